/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Is srun's host cut off from all the others? Then the job may go on without it: when Slurm has given it
 * up, supervisors on the other nodes have the job requeued (supervise/abandoned.h). The leases of their tasks
 * are over. The tasks here hear the rendezvous, so it ends theirs (GOAL_LEASE_OVER).
 *
 * It is cut off if leases end tasks, so with spares, and
 *
 * - there are two other hosts at least with supervisors that are waited for. Of a single one it is not
 *   known which of the two is cut off;
 * - none of them has a connection, and at least one connection of each host broke because its peer did not
 *   answer. One that was closed or reset says nothing: its supervisor may have been killed;
 * - they fell silent together: the last answers of all hosts, each the last of any rank there, are
 *   within one question of the kernel and a second. Hosts that die one after the other are not one cut,
 *   nor are some that were silent before another one's last task ended;
 * - the last of these answers is older than a lease.
 *
 * When the work is done it is of no interest.
 */
#ifndef TF_ISOLATION_H
#define TF_ISOLATION_H

#include "job.h"

bool isolation_holds (const struct job *job);

/* When it does, if nothing changes; NEVER if it does now, or will not. */
int64_t isolation_due (const struct job *job);

#endif
