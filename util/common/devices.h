/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The GPUs of a task.
 */
#ifndef TF_DEVICES_H
#define TF_DEVICES_H

#include <stddef.h>

/*
 * How many GPUs Slurm gave to the task alone, which sees no others; 0 if it has none, or if several tasks of
 * the node see all GPUs. `visible` is the task's CUDA_VISIBLE_DEVICES or its like, NULL if it is not set;
 * `on_node` is how many GPUs the step has on this node, or -1.
 */
int devices_own (const char *visible, int on_node, int tasks_of_node);

/*
 * The numbers of the task's GPUs, as JAX_LOCAL_DEVICE_IDS wants them: "0,1,2" for three, whatever
 * Slurm calls them. If more tasks of the node see all of its GPUs than there are, it is the one with the
 * number `local` modulo the GPUs; `local` counts the processes of the node from 0. NULL if there are GPUs
 * enough for these tasks, which JAX's own rule shares out, or none. Also NULL if the list does not fit into
 * the buffer.
 */
const char *devices_of_task (const char *visible, int on_node, int tasks_of_node, int local, char *buf,
                             size_t size);

#endif
