/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The GPUs of a task.
 */
#ifndef TF_DEVICES_H
#define TF_DEVICES_H

#include <stddef.h>

/*
 * The numbers of the task's GPUs, as JAX_LOCAL_DEVICE_IDS wants them: "0,1,2" for three, whatever
 * Slurm calls them. `visible` is the task's CUDA_VISIBLE_DEVICES or its like, NULL if it is not set;
 * `on_node` is how many GPUs the step has on this node, or -1. NULL if Slurm gave the task
 * no GPUs of its own: several tasks of the node that see all of its GPUs have to share them out,
 * for which JAX has a rule. Also NULL if the list does not fit into the buffer.
 */
const char *devices_of_task (const char *visible, int on_node, int tasks_of_node, char *buf,
                             size_t size);

#endif
