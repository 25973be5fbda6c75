/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-requeue: what job/requeue.h decides is done here, by a child that calls scontrol, as the user. The
 * child asks when the job ends, or it writes the job's comment, requeues the job, and leaves nodes out of its
 * next run. Slurm ends the job then, and this process with it; SIGTERM leaves the child KillWait for the last
 * part. Without a child nothing is known, and nothing is done.
 */
#ifndef TF_REQUEUER_H
#define TF_REQUEUER_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/deadline.h"
#include "protocol/slurm_job.h"

struct fact;
struct frame;
struct requeuer;
struct server;

/* FACT_ASKS_SLURM. */
void requeuer_ask (struct server *server);

/* Its answer, once. NULL if there is none yet. The caller destroys it. */
struct frame *requeuer_take_answer (struct requeuer *requeuer);

/* FACT_REQUEUE of a job that goes on: it is requeued when what was printed before is written. */
void requeuer_requeue (struct server *server, const struct fact *fact);

/* True if that is not done yet: srun may not end. */
bool requeuer_is_busy (const struct requeuer *requeuer);

/* An event whose data.ptr is &server->requeuer. */
void requeuer_receive (struct server *server);

/* What is due, and when. */
void requeuer_check (struct server *server);
struct deadline requeuer_next (const struct server *server);

void requeuer_end (struct requeuer *requeuer);

#endif
