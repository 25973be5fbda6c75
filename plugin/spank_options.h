/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The options, as Slurm reads them from command lines, #SBATCH lines and the environment.
 */
#ifndef TF_SPANK_OPTIONS_H
#define TF_SPANK_OPTIONS_H

#include <stdbool.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

/*
 * Register all options with Slurm, in slurm_spank_init. In slurmstepd, which is root there, the
 * callback ignores the values and only records that a list was given. -1 if Slurm refuses one.
 */
int spank_options_register (spank_t spank);

/* In a task with this environment: true if a list was given to its step, or its job has one. */
bool spank_options_have_list (char *const env[]);

#endif
