/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Supervisors without a connection: they come back, or count as lost after a while, and their tasks as
 * killed with them.
 */
#ifndef TF_ABSENCE_H
#define TF_ABSENCE_H

#include "job.h"

/*
 * The connection of a rank has ended without a report, and it is lost after so many milliseconds (job.h).
 * With spare tasks one may get its place before that, when its node has been silent for long enough
 * (common/silence.h).
 */
void absence_begin (struct job *job, struct rank *rank, int ms);

/* A rank has a connection again: whatever was decided because it had none is undone. */
void absence_end (struct job *job, struct rank *rank);

/*
 * The job is resumed, which was suspended. Meanwhile supervisors could not come back, and none was given up;
 * what was cut off ends its task now.
 */
void absence_resume (struct job *job);

/* Ranks that have not come back in time are replaced, or lost. */
void absence_check (struct job *job);

/* With spares: tell which nodes are silent, and that they are heard again. And when to do so, or NEVER. */
void absence_note_silence (struct job *job);
int64_t absence_silence_due (const struct job *job);

/* Is one missing for a restart of all? That is computed from what is known now, and not remembered. */
void absence_note_missing (struct job *job);

/* When to check again, or NEVER. */
int64_t absence_due (const struct job *job);

#endif
