/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Supervisors without a connection. They come back, or count as lost after a while, in the clock that stands
 * still while the job is suspended. Then their tasks count as killed.
 *
 * srun's host is cut off (job->isolated) if supervisors of two other hosts at least are waited for, all
 * their connections ended because nothing was heard, and no other host was heard for lost_after=. If others
 * of its host were heard since, a supervisor was killed, and tells nothing of the network. Then the job may
 * go on without srun's host: when Slurm has given that up, supervisors on the other nodes have the job
 * requeued (supervise/abandoned.h). The leases of their tasks are over; the tasks on srun's host hear the
 * rendezvous, so it ends theirs (GOAL_LEASE_OVER). Of a single other host nothing is concluded.
 */
#ifndef TF_ABSENCE_H
#define TF_ABSENCE_H

#include "model.h"

/*
 * The connection of a rank has ended without a report. For how long it is waited for depends on how the
 * connection has ended:
 *
 * CLOSED   A supervisor that closes its connection and goes on reconnects within a second (uplink.c).
 * RESET    A process that is killed with data that it has not read sends a reset. So does a host on the way,
 *          or one that has restarted: then the network works, and a supervisor notices within 30 s
 *          (tcp_keep_alive ()) and connects again.
 * BROKEN   One whose connection the network broke may take 100 s to notice that, to wait, and to connect
 *          (uplink.c), and the network may be down for longer. Slurm gives up a node after SlurmdTimeout,
 *          300 s by default: before that a training that the outage itself did not end goes on.
 */
#define JOB_CLOSED_MS 10000
#define JOB_RESET_MS 60000
#define JOB_BROKEN_MS 300000
void absence_begin (struct job *job, struct rank *rank, int ms);

/* A rank has a connection again. */
void absence_end (struct job *job, struct rank *rank);

/* Is the job suspended? When it is resumed, supervisors need some time: meanwhile none could come back. */
void absence_look_at_suspension (struct job *job);

/* Ranks that have not come back in time are lost. */
void absence_check (struct job *job);

/* With spares: tell which nodes are silent, and that they are heard again. */
void absence_note_silence (struct job *job);

/* Is srun's host cut off? */
void absence_look (struct job *job);

/* When to do so; or NEVER. */
int64_t absence_due (const struct job *job);

#endif
