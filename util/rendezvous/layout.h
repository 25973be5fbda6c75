/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nodes from which tasks have not come yet, for messages: the first task of a node sends the names of all
 * nodes of the step, and how many tasks each has. On which node a task is that never came is not known.
 */
#ifndef TF_LAYOUT_H
#define TF_LAYOUT_H

#include <stdbool.h>

struct layout {
    struct layout_node {
        char *name;
        int tasks;
    } *node;                /* in Slurm's order; NULL if they are not known */
    int nodes;
};

/*
 * The nodes of the step, "n[1-3],m7", and the number of tasks on each of them, "2(x3),1": Slurm's variables.
 * A text that is malformed, or has not `tasks` tasks in all, is ignored. Release it with layout_clear ().
 */
void layout_set (struct layout *layout, int tasks, const char *nodes, const char *node_tasks);
void layout_clear (struct layout *layout);

#endif
