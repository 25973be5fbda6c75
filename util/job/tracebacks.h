/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tasks whose log ends with a traceback. Some do not end then: JAX waits for minutes in its shutdown, Python
 * for its threads. The others wait for such a task, or die of it before it ends. A program that has caught
 * the exception, and goes on, prints something else sooner or later; its supervisor tells that, too
 * (signs.h). With the end of a task comes the exception that ended it.
 */
#ifndef TF_TRACEBACKS_H
#define TF_TRACEBACKS_H

#include "model.h"

/* A supervisor has told this of the life that runs. */
void tracebacks_take (struct job *job, struct rank *rank, const struct signs *signs);

/* Tell of those that are a minute old; and when to check again, or NEVER. */
void tracebacks_check (struct job *job);
int64_t tracebacks_due (const struct job *job);

/*
 * `failed` has failed, and all begin again: if a traceback was printed before, tell it, unless it was told;
 * also one that a task tells with its end.
 */
void tracebacks_tell_first (struct job *job, const struct rank *failed);

/*
 * The task of the cluster that printed a traceback, and did not end with 0, before `failed` failed; the first
 * one, or NULL. A task that hung, or lost a connection, failed after all of these, and is none of them.
 */
struct rank *tracebacks_first (struct rank *rank, int tasks, const struct rank *failed);

/* True if the exception that is known ended the task, as far as its end shows. */
bool traceback_has_ended (const struct rank *rank);

/* When the task failed: when it printed the traceback of the exception that ended it, or otherwise ended. */
int64_t traceback_failed_at (const struct rank *rank);

/* True if a lost connection ended it: another task has failed before, most likely. */
bool traceback_is_of_connection (const struct rank *rank);

/* Of two that have failed: by that time. */
bool traceback_is_earlier (const struct rank *a, const struct rank *b);

#endif
