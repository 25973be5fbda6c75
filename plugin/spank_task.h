/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task's side of a launch (launch/task.h) in the plugin: in each task's process, between fork and exec, as
 * the user.
 */
#ifndef TF_SPANK_TASK_H
#define TF_SPANK_TASK_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

/* This process is slurmstepd, whose tasks do not start a program when it has died. */
void spank_task_note_slurmstepd (void);

/*
 * Register and set the environment. Returns 0 when all of it is done, and at once in a step without a task
 * list. A task that cannot get the right dictionary ends here by _exit (): plugstack.conf's `optional` would
 * ignore a return code. argc and argv are the plugin's arguments in plugstack.conf.
 */
int spank_task_init (spank_t spank, int argc, char *argv[]);

#endif
