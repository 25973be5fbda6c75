/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which node runs which rank of a step, as far as the ranks that came have told: each node's
 * first task knows all ranks of its node, and the step's nodes with their numbers of tasks.
 * It serves messages that name who did not come, never an address.
 */
#ifndef TF_LAYOUT_H
#define TF_LAYOUT_H

#include <stdbool.h>

struct layout;

/* NULL when memory ends. */
struct layout *layout_create (int tasks);
void layout_destroy (struct layout *layout);

/* The rank runs on that node. */
void layout_add (struct layout *layout, int rank, int node_index, const char *node);

/*
 * The ranks of a node, "0,1,2"; the step's nodes, "n[1-3],m7", and tasks per node, "2(x3),1".
 * What cannot be understood is not used.
 */
void layout_add_node_ranks (struct layout *layout, int node_index, const char *ranks);
void layout_add_step (struct layout *layout, const char *nodes, const char *node_tasks);

/*
 * Guess the nodes of the ranks that nobody spoke for: the nodes that are short of ranks,
 * filled in the way (block or cyclic) that fits all that is known. What is told later counts
 * more than a guess; guess again then.
 */
void layout_guess (struct layout *layout);

/* The rank's node, or NULL when it is not known. Lives until the next add. */
const char *layout_node (const struct layout *layout, int rank);

#endif
