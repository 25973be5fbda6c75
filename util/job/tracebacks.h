/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tasks whose log ends with a traceback. Some do not end then: JAX waits for minutes in its shutdown,
 * Python for its threads. The others wait for such a task, or die of it before it ends. A program that has
 * caught the exception, and goes on, prints something else behind it sooner or later; its supervisor tells
 * that, too (signs.h). With the end of a task comes the exception that has ended it.
 */
#ifndef TF_TRACEBACKS_H
#define TF_TRACEBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/exit_report.h"
#include "protocol/failure_text.h"
#include "protocol/signs.h"

struct job;
struct rank;

/* What is known of a rank. A zeroed one is fine. */
struct traceback {
    struct failure_text text;   /* no source: its log does not end so */
    int64_t at;                 /* when it was printed */
    bool lost;                  /* it says that a connection was lost */
    bool told;                  /* it has not ended a minute later; once in a life */
};

/* True if the log of the present life ends with one. */
static inline bool traceback_is_known (const struct traceback *traceback)
{
    return traceback->text.source != FAILURE_TEXT_NONE;
}

/* A supervisor has told this of the life that runs. */
void tracebacks_take (struct job *job, struct rank *rank, const struct signs *signs);

/* Tell of those that are a minute old. */
void tracebacks_check (struct job *job);

/* When to check again, or NEVER. */
int64_t tracebacks_due (const struct job *job);

/*
 * `failed` has failed so, and all begin again: if a traceback was printed before, tell it, unless it was
 * told; also one that a task tells with its end.
 */
void tracebacks_decided (struct job *job, const struct rank *failed, const struct exit_report *report);

/*
 * The task of the cluster that has printed a traceback, and not ended with 0, before `failed` did so; the
 * first one, or NULL. One that hung, or lost a connection, has failed after all of these, and is none of
 * them.
 */
struct rank *tracebacks_first (struct rank *rank, int tasks, const struct rank *failed,
                               const struct exit_report *report);

#endif
