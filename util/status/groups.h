/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows of a table of tasks. If there are too many, tasks that have the same role, state and end are one
 * row. In front are groups of few tasks: what is unusual.
 */
#ifndef TF_GROUPS_H
#define TF_GROUPS_H

#include "protocol/overview.h"

struct group {
    int count, nodes;
    const struct overview_rank *first; /* the lowest number */
    const struct overview_rank *oldest; /* whose last sign is the oldest one that is known */
    int low, high; /* training steps */
    int least_restarts, most_restarts;
};

struct groups {
    struct group *group;
    int count;
    int more; /* ranks that are in none, because there are more than `most` groups */
};

/* One for each rank, or at most so many. -1 if there is no memory. */
int groups_make (struct groups *groups, const struct overview_rank *rank, int ranks, int most);
void groups_clear (struct groups *groups);

#endif
