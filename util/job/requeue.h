/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-requeue=SECONDS: a job that needs more time than its limit goes on in another run.
 *
 * Slurm is asked now and then when the job ends, because limits change. SECONDS before that the tasks are
 * asked to save, and to end: all but those that only serve, which are stopped when the others have ended. If
 * those that were awaited have ended as saved, the job is requeued. It is not if the run has brought no
 * higher training step than the one before, or, without steps, was too short to be progress.
 */
#ifndef TF_REQUEUE_H
#define TF_REQUEUE_H

#include "model.h"

/* Ask Slurm, if that is due; and when, in job->now, or NEVER. */
void requeue_check (struct job *job);
int64_t requeue_due (const struct job *job);

/* The job waits for it; if it waits for none (--tf-stop=never), for all of the cluster. */
bool requeue_awaits (const struct job *job, const struct place *place);

/* Slurm's answer. */
void requeue_take (struct job *job, const struct slurm_job *answer);

/* All tasks have ended, and the ledger is closed: add up what all runs have cost, */
void requeue_close (struct job *job);

/* ... and tell whether the job is requeued, if the tasks had been asked to save. */
enum requeue_verdict requeue_verdict (const struct job *job);
void requeue_decide (struct job *job);

#endif
