/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tells what has been decided: srun's line of each fact, and its object for programs.
 */
#ifndef TF_NARRATOR_H
#define TF_NARRATOR_H

#include "job/facts.h"
#include "restart_lines.h"
#include "step.h"

/* The launch is complete: the cluster. */
void narrator_start (struct step *step);

/* A fact that is not for the wire or the step. */
void narrator_tell (struct step *step, struct restart_lines *lines, const struct fact *fact);

#endif
