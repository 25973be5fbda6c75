/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the tasks of a step ended: the table at its end, and the first failure.
 */
#ifndef TF_ENDS_H
#define TF_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "protocol/exit_report.h"
#include "roster.h"

/* What is known of one rank's end. */
struct end {
    bool ended;
    bool presumed;              /* ... because its supervisor has not reconnected */
    struct exit_report report;  /* if it has ended */
    struct timespec at;         /* when its report came, or its connection was lost; wall clock */
    int restarts;               /* so often it was started again */
};

/* The table, to be freed; NULL if there is no memory. end[] has every rank, and all have ended. */
char *ends_table (const char *step, const struct roster *roster, const struct end *end);

/* The rank that failed first; -1 if none has failed. */
int ends_first_to_fail (const struct roster *roster, const struct end *end);

/*
 * Of the ranks that failed, the one that did so first, with its log file if there is one: "worker
 * 12 on n9 at 14:03:11, signal 9 (out of memory); its log is /scratch/worker12.log". The result
 * lives in buf; NULL if no rank has failed.
 */
#define ENDS_FAILURE_SIZE 8192
const char *ends_first_failure (const struct roster *roster, const struct end *end, char *buf,
                                size_t size);

#endif
