/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * srun's side of a launch: reserve the rendezvous' port, tell the ranks, start tf-rendezvous.
 */
#ifndef TF_LAUNCHER_H
#define TF_LAUNCHER_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

/* sbatch and salloc: the options fit together. 0, or -1 with the reason on stderr. */
int launcher_check (void);

/*
 * srun, before an allocation or a step exists, once per component: the same, and where the
 * ranks will meet stands in the environment of every component. 0, or -1 and the reason.
 */
int launcher_prepare (void);

/*
 * srun, with the step, before its tasks are launched. Always 0: a step that is refused here
 * stays in slurmctld as running. Without a rendezvous the ranks find nobody, and end.
 */
int launcher_start (spank_t spank);

#endif
