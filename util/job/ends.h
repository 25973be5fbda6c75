/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the tasks of a step ended, and which failed first.
 */
#ifndef TF_ENDS_H
#define TF_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/exit_report.h"
#include "protocol/failure_text.h"

struct rank;

/* What is known of the end of a rank's life, if it does not run. */
struct end {
    struct exit_report report;
    int64_t at;                 /* the moment when it was, or its connection was lost */
    int nth;                    /* of two ends in the same moment, the first one has the lower number */
    int64_t elapsed_ms;         /* from the launch until then, all its lives and the pauses between them */
    int asked_signal;           /* Slurm or the user has asked it before to end in this way; 0: no */
    bool kill_told;             /* a fact has told that it was killed (FACT_KILLED) */
    struct failure_text *failure;   /* what the task has written about its failure, or NULL */
};

/*
 * A life has ended at that moment, the nth that has, or its connection without a report; the launch was
 * complete at `launched`. What the task has written about that is copied. The signal has asked it to end,
 * or is 0.
 */
void ends_note (struct end *end, int64_t launched, int64_t at, int nth, const struct failure_text *failure,
                int asked_signal);

/* True if the task has ended as Slurm or the user has asked it to: by that signal, or by SIGKILL after it. */
bool ends_was_asked (const struct end *end);

/* True if the task was asked to end, and has ended with a code which says that its work is saved. */
bool ends_has_saved (const struct end *end);

bool ends_is_before (const struct end *a, const struct end *b);

/* True if the first failure is an end that was asked for. */
bool ends_are_cancelled (const struct rank *rank, int tasks);

/* When the task failed: when it printed the traceback of the exception that ended it, or otherwise ended. */
int64_t ends_failed_at (const struct rank *rank);

/* True if a lost connection has ended it: another task has failed before, most likely. */
bool ends_lost_connection (const struct rank *rank);

/* Of two that have failed, by that time; but a lost connection follows from another exception. */
bool ends_fails_before (const struct rank *a, const struct rank *b);

/*
 * The rank that failed first; NULL if none has failed but lost spares, and ranks that are replaced. One
 * that a lost connection has ended is not the first if another exception has ended another task.
 */
const struct rank *ends_first_to_fail (const struct rank *rank, int tasks);

#endif
