/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rank.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/beside.h"

/* NULL stays NULL. False if there is no memory. */
static bool _copy_text (char **copy, const char *text)
{
    return !text || (*copy = strdup (text)) != NULL;
}

static bool _copy_interfaces (struct rank *rank, const struct registration *r)
{
    if (r->interfaces <= 0)
        return true;
    if (!(rank->interface = malloc ((size_t)r->interfaces * sizeof (*rank->interface))))
        return false;
    for (int i = 0; i < r->interfaces; i++) {
        char *cpus = NULL;

        if (!_copy_text (&cpus, r->interface[i].local_cpus))
            return false;
        rank->interface[i] = r->interface[i];
        rank->interface[i].local_cpus = cpus;
        rank->interfaces++;
    }
    return true;
}

int rank_register (struct rank *rank, const struct registration *r)
{
    rank_clear (rank);
    if (!_copy_text (&rank->node, r->node) || !_copy_text (&rank->cpus, r->cpus)
        || !_copy_text (&rank->locality_error, r->locality_error)
        || !_copy_text (&rank->supervisor_error, r->supervisor_error)
        || !_copy_text (&rank->log_dir, r->log_dir) || !_copy_text (&rank->users, r->users)
        || !_copy_text (&rank->own_name, r->own_name) || !_copy_interfaces (rank, r))
        return -1;
    rank->node_index = r->node_index;
    rank->host = r->host;
    rank->connected = r->address;
    rank->port = r->port;
    rank->master_port = r->master_port;
    rank->gpus = r->gpus;
    rank->proxied = r->proxied;
    rank->component_first = r->component_first;
    rank->component_tasks = r->component_tasks;
    return 0;
}

void rank_set_role (struct rank *rank, const char *role)
{
    rank->role = role;
    rank->kind = rules_find (role);
    rank->beside = beside_is (role);
    if (rank->kind == RULES_SPARE)
        rank->state = RANK_SPARE;
}

const char *rank_log_role (const struct rank *rank, int *index)
{
    *index = rank->first_role ? rank->first_index : rank->index;
    return rank->first_role ? rank->first_role : rank->role;
}

bool rank_has_ended (const struct rank *rank)
{
    return rank->state != RANK_RUNS && rank->state != RANK_WAITS && rank->state != RANK_SPARE;
}

bool rank_is_supervised (const struct rank *rank)
{
    return rank->state != RANK_LOST && rank->state != RANK_ENDED;
}

void rank_clear (struct rank *rank)
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
