/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An overview as text. All texts of nodes and programs in it are made printable.
 */
#ifndef TF_STATUS_TEXT_H
#define TF_STATUS_TEXT_H

#include <stdbool.h>

#include "protocol/overview.h"

/* So many lines are a screen. A step with more tasks is shown in groups. */
#define STATUS_TEXT_LINES 24
/* ... of which rows: the others are the step, its time, who is behind, headings, what is left out. */
#define STATUS_TEXT_ROWS (STATUS_TEXT_LINES - 5)

/*
 * "job 12 "train", step 12.0, 3 m 05 s: training, step 86,120, 2.1 steps/s; 1 restart, 2 left". To be
 * freed, or NULL.
 */
char *status_text_line (const struct overview *overview);

/* That line, the time report, who is behind, and the table of `overview->rows` ranks. The same. */
char *status_text (const struct overview *overview, const struct overview_rank *rank, bool all);

#endif
