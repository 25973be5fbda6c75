/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "roster.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void _clear_member (struct member *m)
{
    for (int i = 0; i < m->interfaces; i++)
        free ((char *)(uintptr_t)m->interface[i].local_cpus);
    free (m->interface);
    free (m->node);
    free (m->cpus);
    free (m->locality_error);
    free (m->supervisor_error);
    free (m->log_dir);
    m->interface = NULL;
    m->interfaces = 0;
    m->node = m->cpus = m->locality_error = m->supervisor_error = m->log_dir = NULL;
}

void roster_clear (struct roster *roster)
{
    for (int rank = 0; rank < roster->tasks; rank++)
        _clear_member (&roster->member[rank]);
    free (roster->member);
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
    roster->member = calloc ((size_t)tasks, sizeof (*roster->member));
    roster->layout = layout_create (tasks);
    if (!roster->member || !roster->layout) {
        roster_clear (roster);
        return -1;
    }
    roster->tasks = tasks;
    return 0;
}

/* NULL stays NULL. False if there is no memory. */
static bool _copy_text (char **copy, const char *text)
{
    return !text || (*copy = strdup (text)) != NULL;
}

static bool _copy_interfaces (struct member *m, const struct registration *r)
{
    size_t size = (size_t)r->interfaces * sizeof (*m->interface);

    if (size && !(m->interface = malloc (size)))
        return false;
    for (int i = 0; i < r->interfaces; i++) {
        char *cpus = NULL;

        if (!_copy_text (&cpus, r->interface[i].local_cpus))
            return false;
        m->interface[i] = r->interface[i];
        m->interface[i].local_cpus = cpus;
        m->interfaces++;
    }
    return true;
}

static bool _copy_strings (struct member *m, const struct registration *r)
{
    return _copy_text (&m->node, r->node) && _copy_text (&m->cpus, r->cpus)
           && _copy_text (&m->locality_error, r->locality_error)
           && _copy_text (&m->supervisor_error, r->supervisor_error)
           && _copy_text (&m->log_dir, r->log_dir);
}

static void _add_to_layout (struct layout *layout, const struct registration *r)
{
    layout_add (layout, r->rank, r->node_index, r->node);
    if (r->node_ranks)
        layout_add_node_ranks (layout, r->node_index, r->node_ranks);
    if (r->step_nodes && r->step_node_tasks)
        layout_add_step (layout, r->step_nodes, r->step_node_tasks);
}

static void _set_here (struct roster *roster, struct member *m)
{
    m->here = true;
    roster->here++;
    roster->lost -= m->lost;
    m->lost = false;
}

int roster_add (struct roster *roster, const struct registration *r, const struct address *srun)
{
    struct member *m = &roster->member[r->rank];

    _clear_member (m);
    if (!_copy_strings (m, r) || !_copy_interfaces (m, r))
        return -1;
    _set_here (roster, m);
    m->node_index = r->node_index;
    m->host = r->host;
    m->connected = r->address;
    m->srun = *srun;
    m->port = r->port;
    m->proxied = r->proxied;
    m->component_first = r->component_first;
    m->component_tasks = r->component_tasks;
    _add_to_layout (roster->layout, r);
    return 0;
}

void roster_lose (struct roster *roster, int rank)
{
    roster->member[rank].here = false;
    roster->member[rank].lost = true;
    roster->here--;
    roster->lost++;
}

bool roster_return (struct roster *roster, const struct registration *r)
{
    struct member *m;

    if (r->tasks != roster->tasks)
        return false;
    m = &roster->member[r->rank];
    if (m->here || !m->node || strcmp (m->node, r->node) != 0
        || strcmp (m->host.id, r->host.id) != 0 || m->port != r->port)
        return false;
    _set_here (roster, m);
    return true;
}

int roster_missing (const struct roster *roster)
{
    return roster->tasks - roster->here;
}
