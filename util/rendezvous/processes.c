/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "processes.h"

#include <stdlib.h>
#include <string.h>

#include "common/rules.h"

static bool _leads (const struct rank *rank)
{
    return rank->place && (rank->place->kind == RULES_CHIEF || rank->place->kind == RULES_MASTER);
}

static bool _works (const struct rank *rank)
{
    return rank->place && rank->place->kind == RULES_WORKER;
}

/* If process 0 is not a worker, the workers begin with 1. -1: the rank is not a process. */
static int _process_number (const struct processes *processes, const struct roster *roster,
                            const struct rank *rank)
{
    if (_leads (rank))
        return 0;
    if (!_works (rank))
        return -1;
    return rank->place->index + _leads (&roster->rank[processes->coordinator]);
}

/* A component of a heterogeneous step has an SLURM_NTASKS of its own. */
static bool _are_ranks (const struct processes *processes, const struct roster *roster)
{
    EACH_RANK (rank, roster)
        if (_process_number (processes, roster, rank) != rank->number
            || rank->component_tasks != roster->tasks)
            return false;
    return true;
}

/* Places. */

struct found {
    const char *node;
    int number, rank;
    bool is_process;
};

static int _by_number (const void *a, const void *b)
{
    return ((const struct found *)a)->number - ((const struct found *)b)->number;
}

static int _by_node (const void *a, const void *b)
{
    int order = strcmp (((const struct found *)a)->node, ((const struct found *)b)->node);

    return order ? order : _by_number (a, b);
}

/* `found` has all tasks of one node, in their order. */
static void _set_node (struct process_place *place, const struct found *found, int count)
{
    int processes = 0;

    while (processes < count && found[processes].is_process)
        processes++;
    for (int i = 0; i < count; i++)
        place[found[i].rank] = (struct process_place){
            .number = found[i].number, .local = i, .locals = processes, .group = found[0].rank
        };
}

/* At first a node's group is the rank of its first task. */
static void _find_places (struct process_place *place, struct found *found, int count)
{
    int groups = 0;

    qsort (found, (size_t)count, sizeof (*found), _by_node);
    for (int i = 1, begin = 0; i <= count; i++)
        if (i == count || strcmp (found[begin].node, found[i].node) != 0) {
            _set_node (place, found + begin, i - begin);
            begin = i;
        }
    /* The first task of a node comes before its others. */
    qsort (found, (size_t)count, sizeof (*found), _by_number);
    for (int i = 0; i < count; i++) {
        struct process_place *p = &place[found[i].rank];

        p->group = p->local == 0 ? groups++ : place[p->group].group;
    }
}

static int _set_places (struct processes *processes, const struct roster *roster)
{
    struct found *found = calloc ((size_t)roster->tasks, sizeof (*found));
    int count = 0, others = processes->count;

    processes->place = calloc ((size_t)roster->tasks, sizeof (*processes->place));
    if (!found || !processes->place) {
        free (found);
        return -1;
    }
    EACH_RANK (rank, roster) {
        int number = _process_number (processes, roster, rank);

        processes->place[rank->number].number = -1;
        if (rank->place)
            found[count++] = (struct found){ .node = rank->node,
                                             .number = number < 0 ? others++ : number,
                                             .rank = rank->number,
                                             .is_process = number >= 0 };
    }
    _find_places (processes->place, found, count);
    free (found);
    return 0;
}

int processes_find (struct processes *processes, const struct roster *roster)
{
    int leader = -1, worker = -1, count = 0;

    memset (processes, 0, sizeof (*processes));
    EACH_RANK (rank, roster) {
        if (rank->place && rank->place->kind == RULES_PS)
            return 0;
        if (_leads (rank))
            leader = rank->number;
        else if (_works (rank) && rank->place->index == 0)
            worker = rank->number;
        count += _leads (rank) || _works (rank);
    }
    if (count == 0)
        return 0;
    processes->count = count;
    processes->coordinator = leader >= 0 ? leader : worker;
    processes->are_ranks = _are_ranks (processes, roster);
    return _set_places (processes, roster);
}

void processes_clear (struct processes *processes)
{
    free (processes->place);
    *processes = (struct processes){ 0 };
}
