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
#include "common/tasklist.h"

struct roles {
    const struct rendezvous_config *config;
    size_t lists;               /* one for the step, or one for each component */
    struct tasklist *list[];
};

int roles_create (struct roles **rp, const struct rendezvous_config *config, struct errtext *err)
{
    struct roles *roles = calloc (1, sizeof (*roles) + config->lists * sizeof (roles->list[0]));

    if (!roles)
        return errtext_set (err, "%s", strerror (ENOMEM));
    roles->config = config;
    for (; roles->lists < config->lists; roles->lists++)
        if (tasklist_parse (&roles->list[roles->lists], config->list[roles->lists].text, err) < 0) {
            roles_destroy (roles);
            return -1;
        }
    *rp = roles;
    return 0;
}

void roles_destroy (struct roles *roles)
{
    if (!roles)
        return;
    for (size_t i = 0; i < roles->lists; i++)
        tasklist_destroy (roles->list[i]);
    free (roles);
}

/* One assignment: these lists, to these ranks. */
struct assignment {
    const struct roles *roles;
    struct roster *roster;
};

/* What runs the tasks, for a message: "step 12.0", "component 1 of step 12.0 on n3". */
static const char *_describe (const struct assignment *a, size_t list, const char *node, char *buf,
                              size_t size)
{
    char component[48] = "", group[96] = "";

    if (a->roles->lists > 1)
        snprintf (component, sizeof (component), "component %zu of ", list);
    if (a->roles->config->het_group)
        snprintf (group, sizeof (group), " (--het-group=%s)", a->roles->config->het_group);
    snprintf (buf, size, "%s%s%s%s%s", component, a->roster->step.name, group, node ? " on " : "",
              node ? node : "");
    return buf;
}

/* The roles of `tasks` tasks, into role[]. */
static int _expand_list (const struct assignment *a, size_t list, const char **role, int tasks,
                         const char *node, struct errtext *err)
{
    const struct rendezvous_config *config = a->roles->config;
    bool inherited = config->inherited;
    struct errtext why;
    char place[512], option[64];

    _describe (a, list, node, place, sizeof (place));
    snprintf (option, sizeof (option), "%s--%s", inherited ? "the inherited " : "",
              config->list[list].per_node ? "tf-tasks-per-node" : "tf-tasks");
    if (rules_assign (a->roles->list[list], role, tasks, place, option, inherited ? &why : err) == 0)
        return 0;
    return inherited ? errtext_set (err, "%s. --tf-tasks=none disables the inherited list", why.text) : -1;
}

/* A list per node, for one node's ranks among first..end-1; role[] has room for all of them. */
static int _assign_node (const struct assignment *a, size_t list, int first, int end, int node_index,
                         const char **role, struct errtext *err)
{
    struct rank *rank = a->roster->rank;
    const char *node = NULL;
    int tasks = 0;

    for (int i = first; i < end; i++)
        if (rank[i].node_index == node_index) {
            node = rank[i].node;
            tasks++;
        }
    if (_expand_list (a, list, role, tasks, node, err) < 0)
        return -1;
    for (int i = first; i < end; i++)
        if (rank[i].node_index == node_index)
            roster_set_role (&rank[i], *role++);
    return 0;
}

static int _assign_each_node (const struct assignment *a, size_t list, int first, int end, const char **role,
                              struct errtext *err)
{
    const struct rank *rank = a->roster->rank;

    for (int i = first; i < end; i++)
        if (!rank[i].role && _assign_node (a, list, first, end, rank[i].node_index, role, err) < 0)
            return -1;
    return 0;
}

/* One list, for the ranks first..first+tasks-1: the whole step's or one component's. */
static int _assign_list (const struct assignment *a, size_t list, int first, int tasks, struct errtext *err)
{
    const char **role = calloc ((size_t)tasks, sizeof (*role));
    int rc;

    if (!role)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (a->roles->config->list[list].per_node)
        rc = _assign_each_node (a, list, first, first + tasks, role, err);
    else if ((rc = _expand_list (a, list, role, tasks, NULL, err)) == 0)
        for (int i = 0; i < tasks; i++)
            roster_set_role (&a->roster->rank[first + i], role[i]);
    free (role);
    return rc;
}

/* One list for each component, in their order. */
static int _assign_components (const struct assignment *a, struct errtext *err)
{
    const struct roster *roster = a->roster;
    size_t list = 0;
    int first = 0;

    while (first < roster->tasks && list < a->roles->lists && roster->rank[first].component_first == first) {
        int tasks = roster->rank[first].component_tasks;

        if (_assign_list (a, list++, first, tasks, err) < 0)
            return -1;
        first += tasks;
    }
    if (first == roster->tasks && list == a->roles->lists)
        return 0;
    return errtext_set (err, "%s does not have the %zu components that %zu lists were given for",
                        roster->step.name, a->roles->lists, a->roles->lists);
}

/* The rank's index: one more than the previous rank of its role has. */
static int _index (const struct rank *rank, int number)
{
    for (int i = number - 1; i >= 0; i--)
        if (strcmp (rank[i].role, rank[number].role) == 0)
            return rank[i].index + 1;
    return 0;
}

int roles_assign (const struct roles *roles, struct roster *roster, struct errtext *err)
{
    const struct assignment a = { roles, roster };
    bool needs_ranks = roles->lists > 1 || roles->config->list[0].per_node;
    struct rules_count count = { 0 };
    struct errtext why;

    if (roster->place || (needs_ranks && roster_missing (roster) > 0))
        return 0;
    if ((roles->lists == 1 ? _assign_list (&a, 0, 0, roster->tasks, err) : _assign_components (&a, err)) < 0)
        return -1;
    EACH_RANK (rank, roster) {
        rank->index = _index (roster->rank, rank->number);
        rules_count (&count, rank->role, 1, 0);
    }
    if (rules_check (&count, true, &why) < 0)
        return errtext_set (err, "%s has %s", roster->step.name, why.text);
    return roster_set_places (roster) < 0 ? errtext_set (err, "%s", strerror (ENOMEM)) : 0;
}
