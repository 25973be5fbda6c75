/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the plugin uses of Slurm that no public header declares. srun and slurmstepd have read
 * slurm.conf, so none of this asks slurmctld. The symbols are weak: in a Slurm that lacks one,
 * the function says that the fact is not known.
 */
#ifndef TF_SLURM_PRIVATE_H
#define TF_SLURM_PRIVATE_H

#include <stdbool.h>

#include <slurm/slurm.h>

#include "common/errtext.h"
#include "common/port.h"

/* The step of salloc's interactive shell; slurm.h has it in some releases. */
#ifndef SLURM_INTERACTIVE_STEP
#define SLURM_INTERACTIVE_STEP (0xfffffffa)
#endif

/* SrunPortRange; false when the site has none, or when it is not known. */
bool slurm_private_srun_ports (struct port_range *range);

/* JobFileAppend: output files are appended to. False when it is not known. */
bool slurm_private_appends_output (void);

/*
 * srun runs under a parallel debugger, which has set MPIR_being_debugged (the MPIR process
 * acquisition interface). slurmstepd then stops every task at its exec for the debugger.
 */
bool slurm_private_is_debugged (void);

/* WaitTime in seconds, the default of srun's --wait; 0 when there is none, or it is not known. */
int slurm_private_wait_time (void);

/* KillWait in seconds; -1 when it is not known. */
int slurm_private_kill_wait (void);

/*
 * Do Slurm's signals, except SIGKILL, reach slurmstepd's direct children only? So it is with
 * proctrack/cgroup, unless cgroup.conf has SignalChildrenProcesses=yes (Slurm 23.11). 1 or 0, which
 * is also returned if the proctrack type is not known; -1 and err if cgroup.conf cannot be read.
 */
int slurm_private_signals_only_children (struct errtext *err);

#endif
