/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * srun's side of a launch (launch/srun_side.h) in the plugin. sbatch and salloc only check the options.
 */
#ifndef TF_SRUN_H
#define TF_SRUN_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

/*
 * In sbatch and salloc, before a job exists, once for each component: the options fit together; if
 * not, refusal_exit (). What the job probably lacks is a line (submission.h).
 */
void srun_check_submission (void);

/*
 * In srun, before an allocation or a step exists, once for each component: check the options and
 * export the contact, which reaches every component. If that fails, refusal_exit ().
 */
void srun_prepare (void);

/*
 * In srun, when the step exists and before its tasks are launched: start the rendezvous. Always
 * returns 0, because slurmctld would keep a step that is refused here as running, and block the
 * job's next step. Without a rendezvous the tasks end with a message.
 */
int srun_start (spank_t spank);

#endif
