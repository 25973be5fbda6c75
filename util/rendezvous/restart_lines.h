/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lines that say what the end of a task leads to, if tasks may be restarted: whenever one is,
 * and whenever one that failed is not. Tasks of which the same is to be said within two seconds
 * share a line, which names them. Such a line waits until the first of them is started, or until
 * the two seconds are over. A restart of all is said at once, because it stops tasks.
 */
#ifndef TF_RESTART_LINES_H
#define TF_RESTART_LINES_H

#include "common/deadline.h"
#include "protocol/exit_report.h"
#include "restarts.h"
#include "step.h"

struct restart_lines;

/*
 * For a step of `tasks` ranks. The step and its restarts must live as long. `grace` is that of
 * restarts_create (). NULL if there is no memory.
 */
struct restart_lines *restart_lines_create (struct step *step, const struct restarts *restarts, int grace,
                                            int tasks);

/* What was not printed is lost. NULL is fine. */
void restart_lines_destroy (struct restart_lines *lines);

/*
 * What was decided about the end of a rank, in the place of what is still to be said about it;
 * nothing is said for RESTART_POLICY_NONE. `cannot` is why the task cannot be restarted, or NULL.
 */
void restart_lines_add (struct restart_lines *lines, const struct rank *rank,
                        const struct exit_report *report, enum restart_policy_decision decision,
                        const char *cannot);

/* A rank is restarted: print the line that has it. */
void restart_lines_starts (struct restart_lines *lines, const struct rank *rank);

/* Print what has waited for two seconds. NULL is fine. */
void restart_lines_check (struct restart_lines *lines);

/* Print what there is, except for restarts that are still to come. NULL is fine. */
void restart_lines_flush (struct restart_lines *lines);

/* When to check again. NULL is fine. */
struct deadline restart_lines_next (const struct restart_lines *lines);

#endif
