/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The plugin's functions of launch/launcher.h, by SPANK.
 */
#ifndef TF_SPANK_LAUNCHER_H
#define TF_SPANK_LAUNCHER_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

/* In task_init: the handle of the task of which the environment is read and set. */
void spank_launcher_set_task (spank_t spank);

#endif
