/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "roster.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/beside.h"

static void _clear (struct rank *rank)
{
    for (int i = 0; i < rank->interfaces; i++)
        free ((char *)(uintptr_t)rank->interface[i].local_cpus);
    free (rank->interface);
    free (rank->node);
    free (rank->cpus);
    free (rank->locality_error);
    free (rank->supervisor_error);
    free (rank->log_dir);
    free (rank->users);
    free (rank->own_name);
    free (rank->end.failure);
    rank->end.failure = NULL;
    rank->interface = NULL;
    rank->interfaces = 0;
    rank->node = rank->cpus = rank->locality_error = rank->supervisor_error = rank->log_dir = NULL;
    rank->users = rank->own_name = NULL;
}

void roster_clear (struct roster *roster)
{
    for (int i = 0; i < roster->tasks; i++)
        _clear (&roster->rank[i]);
    free (roster->place);
    free (roster->rank);
    layout_clear (&roster->layout);
    *roster = (struct roster){ .step = roster->step };
}

void roster_set_step (struct roster *roster, const char *number, const char *array)
{
    struct step_id *step = &roster->step;

    snprintf (step->number, sizeof (step->number), "%s", number);
    snprintf (step->name, sizeof (step->name), "step %s%s%s%s", step->number, array ? " (" : "",
              array ? array : "", array ? ")" : "");
}

int roster_set_size (struct roster *roster, int tasks)
{
    roster->rank = calloc ((size_t)tasks, sizeof (*roster->rank));
    if (!roster->rank)
        return -1;
    roster->tasks = tasks;
    for (int i = 0; i < tasks; i++) {
        roster->rank[i].number = i;
        roster->rank[i].away = roster->rank[i].given_up = NEVER;
    }
    return 0;
}

int roster_set_places (struct roster *roster)
{
    if (!(roster->place = calloc ((size_t)roster->tasks, sizeof (*roster->place))))
        return -1;
    EACH_RANK (rank, roster) {
        enum rules_name kind = rules_find (rank->role);

        if (kind == RULES_SPARE)
            continue;
        rank->place = &roster->place[roster->places++];
        *rank->place = (struct place){ .role = rank->role,
                                       .index = rank->index,
                                       .kind = kind,
                                       .beside = beside_is (rank->role),
                                       .rank = rank };
    }
    return 0;
}

/* NULL stays NULL. *ok is false if there is no memory. */
static char *_copy (const char *text, bool *ok)
{
    char *copy = text ? strdup (text) : NULL;

    *ok = *ok && (copy || !text);
    return copy;
}

static bool _copy_interfaces (struct rank *rank, const struct registration *r)
{
    bool ok = true;

    if (r->interfaces <= 0)
        return true;
    if (!(rank->interface = malloc ((size_t)r->interfaces * sizeof (*rank->interface))))
        return false;
    /* gcc -fanalyzer is wrong: each copy is the rank's, and freed with it. */
    for (int i = 0; i < r->interfaces; i++) {
        rank->interface[i] = r->interface[i];
        rank->interface[i].local_cpus = _copy (r->interface[i].local_cpus, &ok);
        rank->interfaces++;
    }
    return ok;
}

static int _keep_registration (struct rank *rank, const struct registration *r)
{
    bool ok = true;

    _clear (rank);
    rank->node = _copy (r->node, &ok);
    rank->cpus = _copy (r->cpus, &ok);
    rank->locality_error = _copy (r->locality_error, &ok);
    rank->supervisor_error = _copy (r->supervisor_error, &ok);
    rank->log_dir = _copy (r->log_dir, &ok);
    rank->users = _copy (r->users, &ok);
    rank->own_name = _copy (r->own_name, &ok);
    if (!_copy_interfaces (rank, r) || !ok)
        return -1;
    rank->node_index = r->node_index;
    rank->host = r->host;
    rank->connected = r->address;
    rank->port = r->port;
    rank->master_port = r->master_port;
    rank->gpus = r->gpus;
    rank->proxied = r->proxied;
    rank->log_dir_private = r->log_dir_private;
    rank->component_first = r->component_first;
    rank->component_tasks = r->component_tasks;
    rank->component = r->component;
    return 0;
}

/* The ranks of a component follow each other. */
static void _find_components (struct roster *roster)
{
    int first = 0;

    for (int i = 1; i <= roster->tasks; i++) {
        if (i < roster->tasks && roster->rank[i].component == roster->rank[first].component)
            continue;
        for (int rank = first; (first > 0 || i < roster->tasks) && rank < i; rank++) {
            roster->rank[rank].component_first = first;
            roster->rank[rank].component_tasks = i - first;
        }
        first = i;
    }
}

int roster_add (struct roster *roster, const struct registration *r, const struct address *srun,
                const struct address *from)
{
    struct rank *rank = &roster->rank[r->rank];

    if (_keep_registration (rank, r) < 0)
        return -1;
    rank->srun = *srun;
    rank->from = *from;
    rank->launch = RANK_HERE;
    if (r->step_nodes && r->step_node_tasks)
        layout_set (&roster->layout, roster->tasks, r->step_nodes, r->step_node_tasks);
    if (roster_missing (roster) == 0)
        _find_components (roster);
    return 0;
}

static bool _has_interface (const struct rank *rank, const struct address *address)
{
    for (int i = 0; i < rank->interfaces; i++)
        if (address_equal (&rank->interface[i].address.address, address))
            return true;
    return false;
}

/* The first rank of the node has its interfaces. */
static bool _is_of_node (const struct roster *roster, const struct rank *rank, const struct address *address)
{
    EACH_RANK (other, roster)
        if (other->interfaces > 0 && address_equal (&other->from, &rank->from)
            && strcmp (other->node, rank->node) == 0 && _has_interface (other, address))
            return true;
    return false;
}

bool roster_is_home (const struct roster *roster, const struct rank *rank, const char *node,
                     const struct address *from)
{
    if (!rank->node)
        return true;
    return node && strcmp (rank->node, node) == 0
           && (address_equal (&rank->from, from) || _is_of_node (roster, rank, from));
}

struct rank *roster_return (struct roster *roster, const struct registration *r)
{
    struct rank *rank;

    if (r->tasks != roster->tasks)
        return NULL;
    rank = &roster->rank[r->rank];
    /* A task whose supervisor is away may have none: it has not read the answer that was sent. */
    if ((rank->launch == RANK_HERE && rank->away == NEVER) || !rank->node
        || strcmp (rank->host.id, r->host.id) != 0 || rank->port != r->port)
        return NULL;
    rank->launch = RANK_HERE;
    return rank;
}

int roster_missing (const struct roster *roster)
{
    int missing = 0;

    for (int i = 0; i < roster->tasks; i++)
        missing += roster->rank[i].launch != RANK_HERE;
    return missing;
}

int roster_gone (const struct roster *roster)
{
    int gone = 0;

    for (int i = 0; i < roster->tasks; i++)
        gone += roster->rank[i].launch == RANK_GONE;
    return gone;
}
