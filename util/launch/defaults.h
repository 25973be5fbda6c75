/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Values that depend on the node of a task: its interfaces, and the GPUs that Slurm gave to it.
 */
#ifndef TF_DEFAULTS_H
#define TF_DEFAULTS_H

#include <stdbool.h>

/*
 * Let NCCL and Gloo, or Gloo alone, use this interface, unless the user, or a configuration file of NCCL,
 * has chosen one. -1 as additions_set ().
 */
int defaults_set_interface (const char *interface, bool nccl);

/* How many GPUs Slurm has given to this task alone; 0: none, or it shares them. */
int defaults_gpus (void);

/*
 * Let JAX use the GPUs that Slurm has given to this task, if it has. `local` is the number of the process
 * among those of its node. -1 as additions_set ().
 */
int defaults_set_devices (int local);

#endif
