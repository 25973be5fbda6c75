/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which node runs which rank, as far as the registrations show it: the first task of a node sends
 * the ranks of its node, and the names and task counts of all nodes of the step. This is only used
 * in messages that name missing ranks.
 */
#ifndef TF_LAYOUT_H
#define TF_LAYOUT_H

struct layout;

/* For a step of `tasks` tasks. NULL if there is no memory. */
struct layout *layout_create (int tasks);

/* NULL is fine. */
void layout_destroy (struct layout *layout);

/* A rank that runs on a node has registered. */
void layout_add (struct layout *layout, int rank, int node_index, const char *node);

/*
 * Add the ranks of a node, "0,1,2"; the nodes of the step, "n[1-3],m7", and the number of tasks on
 * each of them, "2(x3),1". These are Slurm's variables. A text that is malformed or contradicts
 * what is known is ignored.
 */
void layout_add_node_ranks (struct layout *layout, int node_index, const char *ranks);
void layout_add_step (struct layout *layout, const char *nodes, const char *node_tasks);

/*
 * Guess the nodes of the ranks that are not known, from the nodes that do not have all their ranks
 * yet: by a block or a cyclic distribution, whichever agrees with all that is known. Call it again
 * after more has been added.
 */
void layout_guess (struct layout *layout);

/* The name of the rank's node, or NULL if it is not known. It lives until the next add. */
const char *layout_node (const struct layout *layout, int rank);

/* Its index, or -1; and how many nodes are known. */
int layout_node_index (const struct layout *layout, int rank);
int layout_nodes (const struct layout *layout);

#endif
