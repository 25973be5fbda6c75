/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nodes that do not reach each other: programs of a node try to connect to another task's address of the
 * dictionary, and get no answer for a minute, not even that none listens there (supervise/attempts.h). It is
 * told once in a step.
 */
#ifndef TF_UNANSWERED_H
#define TF_UNANSWERED_H

#include "model.h"

/* A supervisor has told this. */
void unanswered_take (struct job *job, struct rank *from, const struct signs *signs);

/* Tell it, if that is due and the job still runs. */
void unanswered_check (struct job *job);

#endif
