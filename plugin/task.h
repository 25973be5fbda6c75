/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The task's side of a launch: in each task's process, between fork and exec, as the user.
 */
#ifndef TF_TASK_H
#define TF_TASK_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

/* This process is slurmstepd, whose tasks do not start a program when it has died. */
void task_note_slurmstepd (void);

/*
 * Reserve a port, register, wait for the answer, set the environment. Returns 0 when all of it is
 * done, and at once in a step without a task list. A task that cannot get the right dictionary
 * ends here by _exit (): plugstack.conf's `optional` would ignore a return code. argc and argv
 * are the plugin's arguments in plugstack.conf.
 */
int task_init (spank_t spank, int argc, char *argv[]);

#endif
