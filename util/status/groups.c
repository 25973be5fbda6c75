/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "groups.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int _compare_texts (const char *a, const char *b)
{
    return strcmp (a ? a : "", b ? b : "");
}

/* 0: they are in the same group. */
static int _compare_kinds (const struct overview_rank *a, const struct overview_rank *b)
{
    int difference = _compare_texts (a->role, b->role);

    if (difference == 0)
        difference = (int)a->state - (int)b->state;
    return difference ? difference : _compare_texts (a->end, b->end);
}

/* Ranks of a group follow each other, by node. */
static int _compare (const void *one, const void *other)
{
    const struct overview_rank *a = *(const struct overview_rank *const *)one,
                               *b = *(const struct overview_rank *const *)other;
    int difference = _compare_kinds (a, b);

    if (difference == 0)
        difference = _compare_texts (a->node, b->node);
    return difference ? difference : a->rank - b->rank;
}

static struct group _of_one (const struct overview_rank *r)
{
    return (struct group){ 1, 1, r, r, r->step, r->step, r->restarts, r->restarts };
}

static void _join (struct group *group, const struct overview_rank *r, bool other_node)
{
    group->count++;
    group->nodes += other_node;
    if (r->rank < group->first->rank)
        group->first = r;
    if (r->sign_age > group->oldest->sign_age || r->unheard > group->oldest->unheard)
        group->oldest = r;
    if (r->step < group->low)
        group->low = r->step;
    if (r->step > group->high)
        group->high = r->step;
    if (r->restarts < group->least_restarts)
        group->least_restarts = r->restarts;
    if (r->restarts > group->most_restarts)
        group->most_restarts = r->restarts;
}

/* Few first, and then by the number of the first rank. */
static int _compare_groups (const void *one, const void *other)
{
    const struct group *a = one, *b = other;

    return a->count != b->count ? a->count - b->count : a->first->rank - b->first->rank;
}

static int _group (struct groups *groups, const struct overview_rank *rank, int ranks)
{
    const struct overview_rank **order = calloc ((size_t)ranks + 1, sizeof (const struct overview_rank *));

    if (!order)
        return -1;
    for (int i = 0; i < ranks; i++)
        order[i] = &rank[i];
    qsort (order, (size_t)ranks, sizeof (const struct overview_rank *), _compare);
    for (int i = 0; i < ranks; i++) {
        bool joins = i > 0 && _compare_kinds (order[i], order[i - 1]) == 0;

        if (joins)
            _join (&groups->group[groups->count - 1], order[i],
                   _compare_texts (order[i]->node, order[i - 1]->node) != 0);
        else
            groups->group[groups->count++] = _of_one (order[i]);
    }
    free (order);
    qsort (groups->group, (size_t)groups->count, sizeof (*groups->group), _compare_groups);
    return 0;
}

int groups_make (struct groups *groups, const struct overview_rank *rank, int ranks, int most)
{
    *groups = (struct groups){ calloc ((size_t)ranks + 1, sizeof (*groups->group)), 0, 0 };
    if (!groups->group)
        return -1;
    if (ranks > most && _group (groups, rank, ranks) < 0) {
        groups_clear (groups);
        return -1;
    }
    for (int i = 0; ranks <= most && i < ranks; i++)
        groups->group[groups->count++] = _of_one (&rank[i]);
    while (groups->count > most)
        groups->more += groups->group[--groups->count].count;
    return 0;
}

void groups_clear (struct groups *groups)
{
    free (groups->group);
    *groups = (struct groups){ NULL, 0, 0 };
}
