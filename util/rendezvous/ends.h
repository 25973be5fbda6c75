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

#include "protocol/exit_report.h"
#include "protocol/failure_text.h"
#include "roster.h"

/* What is known of one rank's end. */
struct end {
    bool ended;
    bool presumed;              /* ... because its supervisor has not reconnected */
    struct exit_report report;  /* if it has ended */
    struct timespec at;         /* when its report came, or its connection was lost; wall clock */
    int64_t elapsed_ms;         /* from the launch until then, all its lives and the pauses between them */
    int asked_signal;           /* Slurm or the user has asked it before to end in this way; 0: no */
    int restarts;               /* how often it was restarted */
    struct failure_text *failure;   /* what the task has written about its failure, or NULL */
};

/* Forget the text of an earlier end, and keep a copy of this one, if it has a source. */
void ends_set_failure (struct end *end, const struct failure_text *text);

/* The table, to be freed; NULL if there is no memory. end[] has every rank, and all have ended. */
char *ends_table (const char *step, const struct roster *roster, const struct end *end);

/* True if the task has ended as Slurm or the user has asked it to: by that signal, or by SIGKILL after it. */
bool ends_was_asked (const struct end *end);

/* True if the first failure is such an end. */
bool ends_are_cancelled (const struct roster *roster, const struct end *end);

/* The rank that failed first; -1 if none has failed. */
int ends_first_to_fail (const struct roster *roster, const struct end *end);

/*
 * Of the ranks that failed, the one that did so first, with its log file if there is one, and with what
 * the task has written about that: "worker 12 on n9 at 14:03:11, exit 1; its log, /scratch/worker12.log,
 * ends with "ValueError: ..."". The result lives in buf; NULL if no rank has failed.
 */
#define ENDS_FAILURE_SIZE 8192
const char *ends_first_failure (const struct roster *roster, const struct end *end, char *buf,
                                size_t size);

/*
 * How many directories of --tf-log-dir the step has, more than one with %N or a heterogeneous job. buf
 * names at most three of them, that of master.log first: "/scratch/n1, /scratch/n2 and 6 more". 0 without
 * the option.
 */
int ends_log_dirs (const struct roster *roster, char *buf, size_t size);

#endif
