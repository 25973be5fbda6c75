/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The end of a job. A place ends; when all that are awaited have ended, or a fatal one failed, the job is
 * over, and the other places get their time to end:
 *
 *     awaited, after a failure without a ps     fail_grace= seconds to end and to say why
 *     graced                                    eval_grace= seconds; fail_grace=, if that is less, when the
 *                                               job has failed, because no checkpoint comes any more
 *     auxiliary tasks                           until those with either grace have ended
 *     all others, and spares                    none
 */
#ifndef TF_FINISH_H
#define TF_FINISH_H

#include "model.h"

/*
 * The last life of a rank ended at that moment, or it will have none. What it wrote about that, or NULL; the
 * signal by which it was asked to end, or 0.
 */
void finish_note_end (struct job *job, struct rank *rank, int64_t at, const struct failure_text *failure,
                      int asked_signal);

/*
 * A place has ended, as its end tells: PLACE_KEPT or PLACE_ENDED; or, with `lost`, its rank is lost and the
 * phase stays.
 */
void finish_end (struct job *job, struct place *place, enum place_phase phase, bool lost);

/* A place hangs, and is not restarted: it runs until it is stopped. */
void finish_hang (struct job *job, struct place *place);

/* A node is bad, and has no spare: all that waits for the preflight has ended. */
void finish_refuse (struct job *job);

/* True if the job does not need this place, which has not ended, any more: it is to be stopped. */
bool finish_stops (const struct job *job, const struct place *place);

/*
 * True if the job is over, and its work is not done: a fatal place failed, or one that is awaited did (of
 * awaited workers beside a ps, all). A place whose rank is lost may have done its work. Not if the step was
 * asked to end.
 */
bool finish_failed (const struct job *job);

/* Name the tasks that were killed since that was told last, and after how many seconds. */
void finish_name_killed (struct job *job, struct fact *fact);

/* srun's --wait in seconds, if it is over, and srun has killed what still ran; or 0. */
int finish_waited (const struct job *job);

#endif
