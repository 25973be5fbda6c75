/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task's side of a launch: in each task's process, as the user, before its program.
 */
#ifndef TF_TASK_H
#define TF_TASK_H

#include "task_info.h"

/*
 * Reserve a port, register, wait for the answer; with supervisors, become two processes. Returns when all of
 * it is done, in the fork server of the task. A task that cannot get the right dictionary ends here by
 * _exit (). `contact` is the value of CONTACT_VARIABLE.
 */
void task_register (const struct task_of_slurm *slurm, const char *contact);

/* After task_register (): go on with the program. Returns in each life of the task, with its environment. */
void task_begin (void);

/*
 * Instead of task_begin (): leave the process as others may change it, as by entering a container. Until
 * task_resume (), which does what task_begin () does, a signal ends it as it does a program.
 */
void task_pause (void);
void task_resume (void);

#endif
