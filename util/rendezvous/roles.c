/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "roles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/rules.h"

int roles_parse (struct roles *roles, const struct rendezvous_config *config, struct roster *roster,
                 struct errtext *err)
{
    roles->config = config;
    roles->roster = roster;
    for (size_t i = 0; i < config->lists; i++)
        if (tasklist_parse (&roles->list[i], config->list[i].text, err) < 0)
            return -1;
    return 0;
}

/* What runs the tasks, for a message: "step 12.0", "component 1 of step 12.0 on n3". */
static const char *_describe (const struct roles *roles, size_t list, const char *node, char *buf,
                              size_t size)
{
    char component[48] = "", group[96] = "";

    if (roles->config->lists > 1)
        snprintf (component, sizeof (component), "component %zu of ", list);
    if (roles->config->het_group)
        snprintf (group, sizeof (group), " (--het-group=%s)", roles->config->het_group);
    snprintf (buf, size, "%s%s%s%s%s", component, roles->roster->step.name, group, node ? " on " : "",
              node ? node : "");
    return buf;
}

/* The roles of `tasks` tasks, into role[]. */
static int _expand_list (const struct roles *roles, size_t list, const char **role, int tasks,
                         const char *node, struct errtext *err)
{
    const struct rendezvous_config *config = roles->config;
    bool inherited = config->inherited;
    struct errtext why;
    char place[512], option[64];

    _describe (roles, list, node, place, sizeof (place));
    snprintf (option, sizeof (option), "%s--%s", inherited ? "the inherited " : "",
              config->list[list].per_node ? "tf-tasks-per-node" : "tf-tasks");
    if (rules_assign (roles->list[list], role, tasks, place, option, inherited ? &why : err) == 0)
        return 0;
    return inherited ? errtext_set (err, "%s. --tf-tasks=none disables the inherited list", why.text) : -1;
}

/* A list per node, for one node's ranks among first..end-1; role[] has room for all of them. */
static int _assign_node (const struct roles *roles, size_t list, int first, int end, int node_index,
                         const char **role, struct errtext *err)
{
    struct rank *rank = roles->roster->rank;
    const char *node = NULL;
    int tasks = 0;

    for (int i = first; i < end; i++)
        if (rank[i].node_index == node_index) {
            node = rank[i].node;
            tasks++;
        }
    if (_expand_list (roles, list, role, tasks, node, err) < 0)
        return -1;
    for (int i = first; i < end; i++)
        if (rank[i].node_index == node_index)
            rank[i].role = *role++;
    return 0;
}

static int _assign_each_node (const struct roles *roles, size_t list, int first, int end, const char **role,
                              struct errtext *err)
{
    const struct rank *rank = roles->roster->rank;

    for (int i = first; i < end; i++)
        if (!rank[i].role && _assign_node (roles, list, first, end, rank[i].node_index, role, err) < 0)
            return -1;
    return 0;
}

/* One list, for the ranks first..first+tasks-1: the whole step's or one component's. */
static int _assign_list (const struct roles *roles, size_t list, int first, int tasks, struct errtext *err)
{
    const char **role = calloc ((size_t)tasks, sizeof (*role));
    int rc;

    if (!role)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (roles->config->list[list].per_node)
        rc = _assign_each_node (roles, list, first, first + tasks, role, err);
    else if ((rc = _expand_list (roles, list, role, tasks, NULL, err)) == 0)
        for (int i = 0; i < tasks; i++)
            roles->roster->rank[first + i].role = role[i];
    free (role);
    return rc;
}

/* One list for each component, in their order. */
static int _assign_components (const struct roles *roles, struct errtext *err)
{
    const struct roster *roster = roles->roster;
    size_t list = 0, lists = roles->config->lists;
    int first = 0;

    while (first < roster->tasks && list < lists && roster->rank[first].component_first == first) {
        int tasks = roster->rank[first].component_tasks;

        if (_assign_list (roles, list++, first, tasks, err) < 0)
            return -1;
        first += tasks;
    }
    if (first == roster->tasks && list == lists)
        return 0;
    return errtext_set (err, "%s does not have the %zu components that %zu lists were given for",
                        roster->step.name, lists, lists);
}

/* The rank's index: one more than the previous rank of its role has. */
static int _index (const struct rank *rank, int number)
{
    for (int i = number - 1; i >= 0; i--)
        if (strcmp (rank[i].role, rank[number].role) == 0)
            return rank[i].index + 1;
    return 0;
}

int roles_assign (const struct roles *roles, struct errtext *err)
{
    struct roster *roster = roles->roster;
    size_t lists = roles->config->lists;
    bool needs_ranks = lists > 1 || roles->config->list[0].per_node;
    struct rules_count count = { 0 };
    struct errtext why;

    if (roster->place || (needs_ranks && roster_missing (roster) > 0))
        return 0;
    if ((lists == 1 ? _assign_list (roles, 0, 0, roster->tasks, err) : _assign_components (roles, err)) < 0)
        return -1;
    EACH_RANK (rank, roster) {
        rank->index = _index (roster->rank, rank->number);
        rules_count (&count, rank->role, 1, 0);
    }
    if (rules_check (&count, true, &why) < 0)
        return errtext_set (err, "%s has %s", roster->step.name, why.text);
    return roster_set_places (roster) < 0 ? errtext_set (err, "%s", strerror (ENOMEM)) : 0;
}
