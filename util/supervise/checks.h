/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The checks of a node (--tf-preflight) that the rendezvous orders, one after the other. Each is a process
 * (node_check.h), a child of the fork server, whose time is limited; when it has ended, and before its result
 * is reported, nothing of what it has started is left.
 */
#ifndef TF_CHECKS_H
#define TF_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lives.h"
#include "protocol/check.h"

struct checks {
    int seconds; /* of a node; 0: there are no checks */
    struct check_order order; /* the last; */
    int64_t came; /* ... when it came, in seconds since 1970 */
    int begun; /* the number of the last one that has begun */
    pid_t pid; /* 0: none runs */
    int output; /* what it prints; -1: none */
    int64_t due; /* when its time is over, or when to look again for what it has left */
    int64_t last; /* ... if it has ended: so long */
    bool suspended; /* the job is, by the last look */
    bool ends; /* it has, or its time was over */
    bool clean; /* ... and it has left nothing: the check of a link starts no process */
    char line[FAILURE_TEXT_MAX + 64]; /* of its output, the present one */
    size_t used;
    struct check_report report; /* of the last one; .number is 0 until it is made */
};

void checks_init (struct checks *checks, const char *preflight);

/* The rendezvous wants this check, if its number is higher than before. */
void checks_take (struct checks *checks, const struct check_order *order);

/* Begin the one that is wanted, if there is one: the fork server serves, and no life runs. */
void checks_begin (struct checks *checks, struct lives *lives, int64_t now);

/* Its process has ended, with this wait status. */
void checks_ended (struct checks *checks, int status, int64_t now);

/* Read what it has printed. */
void checks_read (struct checks *checks);

/* A life begins: the check is given up, and has no report. The caller has killed it. */
void checks_cancel (struct checks *checks);

/* Its time, in which the job is not `suspended`, is over. True if what it has started is to be killed now. */
bool checks_kill (struct checks *checks, bool suspended, int64_t now);

/* The same has been done, and `left` says whether there is something left. True if there is a new report. */
bool checks_finish (struct checks *checks, bool left, int64_t now);

#endif
