/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void roster_clear (struct roster *roster)
{
    for (int i = 0; i < roster->tasks; i++)
        rank_clear (&roster->rank[i]);
    free (roster->rank);
    layout_destroy (roster->layout);
    *roster = (struct roster){ .step = roster->step };
}

void roster_set_step (struct roster *roster, const char *number)
{
    struct step_id *step = &roster->step;

    snprintf (step->number, sizeof (step->number), "%s", number);
    snprintf (step->name, sizeof (step->name), "step %s", step->number);
}

int roster_set_size (struct roster *roster, int tasks)
{
    roster->rank = calloc ((size_t)tasks, sizeof (*roster->rank));
    roster->layout = layout_create (tasks);
    if (!roster->rank || !roster->layout) {
        roster_clear (roster);
        return -1;
    }
    roster->tasks = tasks;
    for (int i = 0; i < tasks; i++) {
        roster->rank[i].number = i;
        roster->rank[i].away = deadline_never ();
        roster->rank[i].given_up = roster->rank[i].last_sign = deadline_never ();
    }
    return 0;
}

static void _set_here (struct roster *roster, struct rank *rank)
{
    roster->here += rank->launch != RANK_HERE;
    roster->gone -= rank->launch == RANK_GONE;
    rank->launch = RANK_HERE;
}

int roster_add (struct roster *roster, const struct registration *r, const struct address *srun)
{
    struct rank *rank = &roster->rank[r->rank];

    if (rank_register (rank, r) < 0)
        return -1;
    rank->srun = *srun;
    _set_here (roster, rank);
    layout_add (roster->layout, r->rank, r->node_index, r->node);
    if (r->node_ranks)
        layout_add_node_ranks (roster->layout, r->node_index, r->node_ranks);
    if (r->step_nodes && r->step_node_tasks)
        layout_add_step (roster->layout, r->step_nodes, r->step_node_tasks);
    return 0;
}

void roster_lose (struct roster *roster, struct rank *rank)
{
    rank->launch = RANK_GONE;
    roster->here--;
    roster->gone++;
}

struct rank *roster_return (struct roster *roster, const struct registration *r)
{
    struct rank *rank;

    if (r->tasks != roster->tasks)
        return NULL;
    rank = &roster->rank[r->rank];
    /* A task whose supervisor is away may have none: it has not read the answer that was sent. */
    if ((rank->launch == RANK_HERE && !deadline_is_set (rank->away)) || !rank->node
        || strcmp (rank->node, r->node) != 0 || strcmp (rank->host.id, r->host.id) != 0
        || rank->port != r->port)
        return NULL;
    _set_here (roster, rank);
    return rank;
}

int roster_missing (const struct roster *roster)
{
    return roster->tasks - roster->here;
}
