/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The line that says what the end of a task leads to, if tasks may be started again.
 */
#ifndef TF_RESTART_LINES_H
#define TF_RESTART_LINES_H

#include "protocol/exit_report.h"
#include "restarts.h"
#include "step.h"

/*
 * Print what was decided about a rank, nothing for RESTART_POLICY_NONE. `grace` is that of
 * restarts_create (); `cannot` is why the task cannot be started again, or NULL.
 */
void restart_lines_print (struct step *step, const struct restarts *restarts, int grace, int rank,
                          const struct exit_report *report, enum restart_policy_decision decision,
                          const char *cannot);

#endif
