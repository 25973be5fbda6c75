/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The GPUs of a task.
 */
#ifndef TF_DEVICES_H
#define TF_DEVICES_H

#include <stddef.h>

/* The GPUs that Slurm gave to a task and its node, from its environment. */
struct devices {
    const char *visible;        /* the task's CUDA_VISIBLE_DEVICES or its like; NULL: it is not set */
    int on_node;                /* of the step, or -1 */
    int tasks;                  /* of the node */
};
struct devices devices_given (char *const env[]);

/*
 * How many GPUs are the task's alone, which sees no others; 0 if it has none, or if several tasks of the node
 * see all GPUs.
 */
int devices_own (const struct devices *given);

/*
 * The numbers of the task's GPUs, as JAX_LOCAL_DEVICE_IDS wants them: "0,1,2" for three, whatever
 * Slurm calls them. If more tasks of the node see all of its GPUs than there are, it is the one with the
 * number `local` modulo the GPUs; `local` counts the processes of the node from 0. NULL if there are GPUs
 * enough for these tasks, which JAX's own rule shares out, or none. Also NULL if the list does not fit into
 * the buffer.
 */
const char *devices_of_task (const struct devices *given, int local, char *buf, size_t size);

#endif
