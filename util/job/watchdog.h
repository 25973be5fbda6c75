/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-watchdog: does the step hang? Watched are the tasks that do the work: workers, chief and master.
 * Their supervisors report their activity (supervise/watch.h), and when it is overdue:
 *
 *     a task that sends messages       hangs when its sign is overdue
 *     tasks whose logs grow            hang when those of all are overdue, and no other task moves, or has
 *                                      ended in the last SECONDS
 *     a task that gives no signs       is not watched until it does; if all give none, a line says it
 *
 * Then every supervisor of the cluster is asked to tell at once what it knows, so that the verdict is about
 * one moment: which task was silent first, and which still move. A task that is stopped by a signal comes
 * first, also a ps, because the others wait for it. The tasks that hang are aborted; what becomes of
 * the others, and whether all begin again, is the stop policy's and the restart policy's business, as after
 * a failure of the first one.
 *
 * With --tf-watchdog=auto the supervisors say when a task is silent for the least time, and what is too
 * long is decided here, by the longest silence between two signs that any task has had in the last hours:
 *
 *     SECONDS     five times that, at least the least time; after a verdict, also twice what was silent
 *                 then, until FIRST
 *     FIRST       as given, or half an hour; in later lives five times what the second heartbeat of the
 *                 first one took
 *
 * A life is FIRST old before SECONDS counts; until then FIRST does. A pause that has not come yet, as the
 * first evaluation, cannot be learnt. So in the first ten times FIRST a tenth of the time that has passed is
 * the least, too; or half an hour, but not longer than that time, while nothing has been learnt.
 *
 * A task that is to end is not watched: it may save, and its grace ends it.
 * A task whose supervisor has no connection, or does not answer, is not known to be silent.
 */
#ifndef TF_WATCHDOG_H
#define TF_WATCHDOG_H

#include "model.h"

/* A supervisor tells of its task. */
void watchdog_take (struct job *job, struct rank *rank, const struct signs *signs);

/* Ask, or decide, if that is due. */
void watchdog_check (struct job *job);

/* When to check again, if nothing is told before; or NEVER. */
int64_t watchdog_due (const struct job *job);

/* What --tf-watchdog=auto has learned until now; otherwise nothing. */
struct watchdog_learnt watchdog_learn (const struct job *job);

/* A life of the rank has ended: if it hung, it has failed when it fell silent. */
void watchdog_note_end (struct job *job, struct rank *rank);

#endif
