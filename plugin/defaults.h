/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Variables of a task that the plugin sets unless the user has set them. SLURM_TF_ADDED lists those
 * that it has set: in a step that a task of another step starts, they are not the user's.
 */
#ifndef TF_DEFAULTS_H
#define TF_DEFAULTS_H

#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdbool.h>

/* Remove what the plugin has added to the environment of an outer step. A second call does nothing. */
void defaults_begin (spank_t spank);

/* True if the variable has a value, also an empty one. */
bool defaults_is_set (spank_t spank, const char *name);

/*
 * Set the variable unless the user has set it, also to nothing. -1 if Slurm refuses it, or after
 * DEFAULTS_MAX bytes of names.
 */
#define DEFAULTS_MAX 512
int defaults_set (spank_t spank, const char *name, const char *value);

/*
 * Let NCCL and Gloo use this interface, unless the user, or a configuration file of NCCL, has
 * chosen one. -1 as defaults_set ().
 */
int defaults_set_interface (spank_t spank, const char *interface);

/* How many GPUs Slurm has given to this task alone; 0: none, or it shares them. */
int defaults_gpus (spank_t spank);

/*
 * Let JAX use the GPUs that Slurm has given to this task, if it has. `local` is the number of the process
 * among those of its node. -1 as defaults_set ().
 */
int defaults_set_devices (spank_t spank, int local);

/* Set another value of a variable that defaults_set () has set, and leave one of the user's alone. */
void defaults_change (spank_t spank, const char *name, const char *value);

/* Set SLURM_TF_ADDED. -1 if Slurm refuses it. */
int defaults_end (spank_t spank);

#endif
