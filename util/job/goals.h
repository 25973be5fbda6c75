/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What supervisors are to do: it follows from what is known now.
 */
#ifndef TF_GOALS_H
#define TF_GOALS_H

#include "model.h"

/* job->owed_code, as things are. */
int goals_owed_code (const struct job *job);

/* What the supervisor of a rank is to do, as things are. */
struct goal job_goal (const struct job *job, const struct rank *rank);

/*
 * True if its supervisor is to be told *goal now, which counts as told then. It has a connection, on which
 * it was told another one, or nothing; one to leave is told if it `may_leave`. *begins: a life begins, and a
 * place has moved, so an answer comes along, with the dictionary as it is now.
 */
bool job_tells (struct job *job, struct rank *rank, bool may_leave, struct goal *goal, bool *begins);

#endif
