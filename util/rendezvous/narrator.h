/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tells what has been decided: srun's line of each fact, and its object for programs.
 */
#ifndef TF_NARRATOR_H
#define TF_NARRATOR_H

#include "job/facts.h"
#include "job/moment.h"
#include "step.h"

struct narrator;

/* NULL if there is no memory. The step must live as long. */
struct narrator *narrator_create (struct step *step);

/* What was not told is lost. NULL is fine. */
void narrator_destroy (struct narrator *narrator);

/* The launch is complete: the cluster. No narrator is needed. */
void narrator_start (struct step *step);

/* A fact that is not for the wire or the step. */
void narrator_tell (struct narrator *narrator, const struct fact *fact);

/* What has waited for others of its kind, if its time has come; and when to ask again, or NEVER. */
void narrator_time (struct narrator *narrator, int64_t now);
int64_t narrator_due (const struct narrator *narrator);

#endif
