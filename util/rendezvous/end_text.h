/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the last lines of a step say: how its tasks ended, what failed first, where the logs are.
 */
#ifndef TF_END_TEXT_H
#define TF_END_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/exit_report.h"

struct rank;
struct roster;

/* The table, to be freed; NULL if there is no memory. All ranks have ended; alone: see job/ends.h. */
char *end_text_table (const struct roster *roster, bool alone);

/* ". Its log is /scratch/worker12.log", and what is known of it; "" without a log. */
void end_text_log (const struct rank *rank, char *buf, size_t size);

/*
 * Of the ranks that failed, the one that did so first, with its log file if there is one, and with what
 * the task has written about that: "first failure: worker 12 (n9) at 14:03:11, exit code 1. Its log
 * /scratch/worker12.log ends with "ValueError: ..."". A traceback that was printed before comes first.
 * The result lives in buf; NULL if no rank has failed.
 */
#define END_TEXT_FAILURE_SIZE 8192
const char *end_text_failure (const struct roster *roster, char *buf, size_t size);

/* "at 14:02:11: "ValueError: NaN"; its log is /scratch/worker1.log", of one with a traceback. Returns buf. */
const char *end_text_traceback (const struct rank *rank, char *buf, size_t size);

/*
 * Where the ranks that hung did (supervise/last_line.h), grouped, first what few do: "worker 1: train.py:20
 * on_epoch_end; 2 others: train.py:33 main, in quick_execute". All ranks have ended, or wait for their next
 * life. The result lives in buf; NULL if no log says it.
 */
const char *end_text_stacks (const struct roster *roster, char *buf, size_t size);

/* "has saved, and ended with 42", of a task that ends_has_saved (). Returns buf. */
const char *end_text_saved (const struct exit_report *report, char *buf, size_t size);

/*
 * How many directories of --tf-log-dir the step has, more than one with %N or a heterogeneous job. buf
 * names at most three of them, that of master.log first: "/scratch/n1, /scratch/n2 and 6 more". 0 without
 * the option.
 */
int end_text_log_dirs (const struct roster *roster, char *buf, size_t size);

#endif
