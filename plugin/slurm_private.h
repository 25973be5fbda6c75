/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the plugin uses of Slurm that no public header declares. srun and slurmstepd have read
 * slurm.conf, so none of this asks slurmctld. The symbols are weak: in a Slurm that lacks one, its fact is
 * not known.
 */
#ifndef TF_SLURM_PRIVATE_H
#define TF_SLURM_PRIVATE_H

#include <slurm/slurm.h>

#include "launch/srun_side.h"
#include "launch/task_info.h"

/* The step of salloc's interactive shell; slurm.h has it in some releases. */
#ifndef SLURM_INTERACTIVE_STEP
#define SLURM_INTERACTIVE_STEP (0xfffffffa)
#endif

/*
 * In srun: .ports, .appends_output, .wait_time, and .debugged if a parallel debugger has set
 * MPIR_being_debugged (the MPIR process acquisition interface). slurmstepd then stops every task at its exec
 * for the debugger.
 */
void slurm_private_srun (struct srun_facts *facts);

/*
 * In slurmstepd: .kill_wait and .forwards. Slurm's signals, except SIGKILL, reach direct children alone with
 * proctrack/cgroup, unless cgroup.conf has SignalChildrenProcesses=yes (Slurm 23.11). If the proctrack type
 * is not known, .forwards is 0.
 */
void slurm_private_task (struct task_of_slurm *slurm);

#endif
