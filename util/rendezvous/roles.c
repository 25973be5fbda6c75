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

struct list {
    struct tasklist *tasks;
    bool per_node;
};

struct roles {
    bool inherited;             /* the list came with the job */
    char *het_group;            /* srun's --het-group, or NULL */
    size_t lists;               /* one for the step, or one for each component */
    struct list list[];
};

int roles_create (struct roles **rp, const struct rendezvous_config *config, struct errtext *err)
{
    struct roles *roles = calloc (1, sizeof (*roles) + config->lists * sizeof (roles->list[0]));

    if (!roles || (config->het_group && !(roles->het_group = strdup (config->het_group)))) {
        free (roles);
        return errtext_set (err, "%s", strerror (ENOMEM));
    }
    roles->inherited = config->inherited;
    for (size_t i = 0; i < config->lists; i++) {
        roles->list[i].per_node = config->list[i].per_node;
        if (tasklist_parse (&roles->list[i].tasks, config->list[i].text, err) < 0) {
            roles_destroy (roles);
            return -1;
        }
        roles->lists++;
    }
    *rp = roles;
    return 0;
}

void roles_destroy (struct roles *roles)
{
    if (!roles)
        return;
    for (size_t i = 0; i < roles->lists; i++)
        tasklist_destroy (roles->list[i].tasks);
    free (roles->het_group);
    free (roles);
}

bool roles_can_be_assigned (const struct roles *roles, const struct roster *roster)
{
    return roster_missing (roster) == 0 || (roles->lists == 1 && !roles->list[0].per_node);
}

/* One assignment: these lists, to these members, of this step. */
struct assignment {
    const struct roles *roles;
    struct roster *roster;
    const char *step;
};

/* What runs the tasks, for a message: "step 12.0", "component 1 of step 12.0 on n3". */
static const char *_describe (const struct assignment *a, size_t list, const char *node,
                              char *buf, size_t size)
{
    char component[48] = "", group[96] = "";

    if (a->roles->lists > 1)
        snprintf (component, sizeof (component), "component %zu of ", list);
    if (a->roles->het_group)
        snprintf (group, sizeof (group), " (--het-group=%s)", a->roles->het_group);
    snprintf (buf, size, "%s%s%s%s%s", component, a->step, group, node ? " on " : "",
              node ? node : "");
    return buf;
}

/* The roles of `tasks` tasks, into role[]. */
static int _expand (const struct assignment *a, size_t list, const char **role, int tasks,
                    const char *node, struct errtext *err)
{
    const struct list *l = &a->roles->list[list];
    bool inherited = a->roles->inherited;
    struct errtext why;
    char place[512], option[64];

    _describe (a, list, node, place, sizeof (place));
    snprintf (option, sizeof (option), "%s--%s", inherited ? "the inherited " : "",
              l->per_node ? "tf-tasks-per-node" : "tf-tasks");
    if (tasklist_assign (l->tasks, role, tasks, place, option, &why) == 0)
        return 0;
    return errtext_set (err, "%s%s", why.text,
                        inherited ? "; --tf-tasks=none switches it off" : "");
}

/* A list per node, for one node's ranks among first..end-1; role[] has room for all of them. */
static int _assign_node (const struct assignment *a, size_t list, int first, int end,
                         int node_index, const char **role, struct errtext *err)
{
    struct member *member = a->roster->member;
    const char *node = NULL;
    int tasks = 0;

    for (int rank = first; rank < end; rank++)
        if (member[rank].node_index == node_index) {
            node = member[rank].node;
            tasks++;
        }
    if (_expand (a, list, role, tasks, node, err) < 0)
        return -1;
    for (int rank = first; rank < end; rank++)
        if (member[rank].node_index == node_index)
            member[rank].role = *role++;
    return 0;
}

static int _assign_each_node (const struct assignment *a, size_t list, int first, int end,
                              const char **role, struct errtext *err)
{
    const struct member *member = a->roster->member;

    for (int rank = first; rank < end; rank++)
        if (!member[rank].role
            && _assign_node (a, list, first, end, member[rank].node_index, role, err) < 0)
            return -1;
    return 0;
}

/* One list, for the ranks first..first+tasks-1: the whole step's or one component's. */
static int _assign_list (const struct assignment *a, size_t list, int first, int tasks,
                         struct errtext *err)
{
    const char **role = calloc ((size_t)tasks, sizeof (*role));
    int rc;

    if (!role)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (a->roles->list[list].per_node)
        rc = _assign_each_node (a, list, first, first + tasks, role, err);
    else if ((rc = _expand (a, list, role, tasks, NULL, err)) == 0)
        for (int i = 0; i < tasks; i++)
            a->roster->member[first + i].role = role[i];
    free (role);
    return rc;
}

/* One list for each component, in their order. */
static int _assign_components (const struct assignment *a, struct errtext *err)
{
    const struct roster *roster = a->roster;
    size_t list = 0;
    int first = 0;

    while (first < roster->tasks && list < a->roles->lists
           && roster->member[first].component_first == first) {
        int tasks = roster->member[first].component_tasks;

        if (_assign_list (a, list++, first, tasks, err) < 0)
            return -1;
        first += tasks;
    }
    if (first == roster->tasks && list == a->roles->lists)
        return 0;
    return errtext_set (err, "%s does not have the %zu components that %zu lists were given for",
                        a->step, a->roles->lists, a->roles->lists);
}

/* The rank's index: one more than the previous rank of its role has. */
static int _index (const struct member *member, int rank)
{
    for (int i = rank - 1; i >= 0; i--)
        if (strcmp (member[i].role, member[rank].role) == 0)
            return member[i].index + 1;
    return 0;
}

int roles_assign (const struct roles *roles, struct roster *roster, const char *step,
                  struct errtext *err)
{
    const struct assignment a = { roles, roster, step };
    struct rules_count count = { 0 };
    struct errtext why;
    int rc = roles->lists == 1 ? _assign_list (&a, 0, 0, roster->tasks, err)
                               : _assign_components (&a, err);

    if (rc < 0)
        return -1;
    for (int rank = 0; rank < roster->tasks; rank++) {
        roster->member[rank].index = _index (roster->member, rank);
        rules_count (&count, roster->member[rank].role, 1, 0);
    }
    if (rules_check (&count, true, &why) < 0)
        return errtext_set (err, "%s has %s", step, why.text);
    return 0;
}
