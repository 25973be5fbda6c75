/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the tasks of a step ended: the table at its end, and the first failure.
 */
#ifndef TF_ENDS_H
#define TF_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/deadline.h"
#include "protocol/exit_report.h"
#include "protocol/failure_text.h"

struct rank;
struct roster;

/* What is known of the end of a rank's life, if it does not run. */
struct end {
    struct exit_report report;
    struct timespec at;         /* when it was, or its connection was lost; wall clock of srun's host */
    int64_t elapsed_ms;         /* from the launch until then, all its lives and the pauses between them */
    int asked_signal;           /* Slurm or the user has asked it before to end in this way; 0: no */
    bool kill_told; /* srun has printed that it was killed (end_lines_killed ()) */
    struct failure_text *failure;   /* what the task has written about its failure, or NULL */
};

/*
 * A life has ended so many milliseconds ago, or its connection without a report; the launch was complete at
 * `launched`. What the task has written about that is copied. The signal has asked it to end, or is 0.
 */
void ends_note (struct end *end, struct deadline launched, int ago_ms, const struct failure_text *failure,
                int asked_signal);

/* The table, to be freed; NULL if there is no memory. All ranks have ended; alone: see alone.h. */
char *ends_table (const struct roster *roster, bool alone);

/* True if the task has ended as Slurm or the user has asked it to: by that signal, or by SIGKILL after it. */
bool ends_was_asked (const struct end *end);

/* True if the first failure is such an end. */
bool ends_are_cancelled (const struct roster *roster);

bool ends_is_before (const struct timespec *a, const struct timespec *b);

/* The rank that failed first; NULL if none has failed but lost spares, and ranks that are replaced. */
const struct rank *ends_first_to_fail (const struct roster *roster);

/*
 * Of the ranks that failed, the one that did so first, with its log file if there is one, and with what
 * the task has written about that: "worker 12 on n9 at 14:03:11, exit 1; its log, /scratch/worker12.log,
 * ends with "ValueError: ..."". The result lives in buf; NULL if no rank has failed.
 */
#define ENDS_FAILURE_SIZE 8192
const char *ends_first_failure (const struct roster *roster, char *buf, size_t size);

/*
 * How many directories of --tf-log-dir the step has, more than one with %N or a heterogeneous job. buf
 * names at most three of them, that of master.log first: "/scratch/n1, /scratch/n2 and 6 more". 0 without
 * the option.
 */
int ends_log_dirs (const struct roster *roster, char *buf, size_t size);

#endif
