/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-watchdog: does the step hang? Watched are the tasks that do the work: workers, chief and master.
 * Their supervisors say which signs of life they give (supervise/watch.h), and when these are overdue:
 *
 *     a task that sends messages       hangs when its sign is overdue
 *     tasks whose logs grow            hang when those of all are overdue, and no other task moves, or has
 *                                      ended in the last SECONDS
 *     a task that gives no signs       is not watched; if that is so of all, a line says it, once
 *
 * Then every supervisor of the cluster is asked to tell at once what it knows, so that the verdict is about
 * one moment: which task was silent first, and which still move. A task that is stopped by a signal comes
 * first, also a ps, because the others wait for it. The tasks that hang get ORDER_ABORT; what becomes of
 * the others, and whether all begin again, is the stop policy's and the restart policy's business, as after
 * a failure of the first one.
 *
 * A task whose supervisor has no connection, or does not answer, is not known to be silent.
 */
#ifndef TF_WATCHDOG_H
#define TF_WATCHDOG_H

#include <stdbool.h>
#include <time.h>

#include "common/deadline.h"
#include "protocol/signs.h"

struct exit_report;
struct rank;
struct server;

/* What is known of a rank. A zeroed one is fine. */
struct watch_standing {
    struct signs signs;         /* the last that its supervisor has told; */
    bool told;                  /* it has */
    struct deadline told_at;
    bool asked;                 /* it is to tell, and has not */
    int hung;                   /* the life, from 1, that was found to hang; 0: none */
    struct timespec since;      /* when that was silent */
};

struct watchdog {
    bool asks;                  /* supervisors, */
    struct deadline patience;   /* until then */
    bool said;                  /* that no task is watched */
    struct deadline settled;    /* so long after the end of a watched task, logs do not count */
};

/* True if a task with this role is watched. */
bool watchdog_watches (const struct rank *rank);

/* A supervisor tells of its task. */
void watchdog_take (struct server *server, struct rank *rank, const struct signs *signs);

/* Ask, or decide, if that is due. */
void watchdog_check (struct server *server);
/* When to check again, if nothing is told before. */
struct deadline watchdog_next (const struct server *server);

/* True if the present life of the rank was found to hang, and has not ended. */
bool watchdog_is_hung (const struct rank *rank);

/* A life of the rank has ended so: if it hung, it has failed when it fell silent. */
void watchdog_note_end (struct server *server, struct rank *rank, const struct exit_report *report);

#endif
