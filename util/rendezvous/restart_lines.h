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

#include "job/facts.h"
#include "job/moment.h"
#include "step.h"

struct restart_lines;

/* The step must live as long. NULL if there is no memory. */
struct restart_lines *restart_lines_create (struct step *step);

/* What was not printed is lost. NULL is fine. */
void restart_lines_destroy (struct restart_lines *lines);

/* FACT_DECIDED, in the place of what is still to be said about the rank. */
void restart_lines_add (struct restart_lines *lines, const struct fact *fact);

/* A rank is restarted: print the line that has it. */
void restart_lines_starts (struct restart_lines *lines, const struct rank *rank);

/* Print what has waited for two seconds. */
void restart_lines_check (struct restart_lines *lines, int64_t now);

/* Print what there is, except for restarts that are still to come. */
void restart_lines_flush (struct restart_lines *lines);

/* When to check again, or NEVER. */
int64_t restart_lines_due (const struct restart_lines *lines);

#endif
