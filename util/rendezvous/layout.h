/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The nodes of a step, for messages about those from which no task has come: the first task of each node
 * sends the names of all. On which node a single task is that never came is not known.
 */
#ifndef TF_LAYOUT_H
#define TF_LAYOUT_H

#include <stdbool.h>

struct layout {
    char **node;            /* names, in Slurm's order; NULL if they are not known */
    int nodes;
};

/*
 * The nodes of the step, "n[1-3],m7", as Slurm's variable has them. A text that is malformed, or has more
 * nodes than the step has tasks, is ignored. Release it with layout_clear ().
 */
void layout_set (struct layout *layout, int tasks, const char *nodes);
void layout_clear (struct layout *layout);

#endif
