/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An overview as text. All texts of nodes and programs in it are made printable.
 */
#ifndef TF_STATUS_TEXT_H
#define TF_STATUS_TEXT_H

#include <stdbool.h>

#include "reply.h"

/* So many lines are a screen. A step with more tasks is shown in groups. */
#define STATUS_TEXT_LINES 24
/* ... of which rows: the others are the step, its time, who is behind, headings, what is left out. */
#define STATUS_TEXT_ROWS (STATUS_TEXT_LINES - 5)

/*
 * "job 12 "train", step 12.0, 3 m 05 s: training, step 86,120, 2.1 steps/s; 1 restart, 2 left". To be
 * freed, or NULL.
 */
char *status_text_line (const struct overview *overview);

/* Steps that tasks of a step that is well may be apart, and so many seconds of its steps. */
#define BEHIND_STEPS 2
#define BEHIND_SECONDS 2

/*
 * "worker 3 on n4 is slow: step 86,100; worker 0: step 86,118", which is the slowest one. False if none is:
 * supervisors tell steps at different moments, so a task is slow only if it is behind the step that another
 * one had reached, even if it went on at the speed of the job step since it told its own.
 */
bool status_text_slow (const struct reply *reply, char *buf, size_t size);

/* That line, the time report, who is slow, and the table of the tasks. The same. */
char *status_text (const struct reply *reply, bool all);

#endif
