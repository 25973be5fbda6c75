/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "describe.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/list_text.h"

/* Each network once; candidates are sorted by network. */
static void _print_networks (const struct selection *selection, char *buf, size_t size)
{
    const struct candidates *c = selection->candidates;
    struct list_text list = { buf, size, " and ", 0, 0, 0 };
    const struct subnet *last = NULL;
    struct subnet_text room;

    if (selection->routed)
        list_text_add (&list, selection->routed->is_network
                                  ? subnet_print (&selection->routed->network, &room)
                                  : selection->routed->text);
    for (size_t i = 0; i < c->count && !selection->routed; i++) {
        const struct subnet *network = &c->candidate[i].network;

        if (!selection->selected[i] || (last && subnet_compare (last, network) == 0))
            continue;
        list_text_add (&list, subnet_print (network, &room));
        last = network;
    }
    list_text_end (&list);
}

/* "InfiniBand", or the name that all selected interfaces have unless it is the network's, or NULL. */
static const char *_kind (const struct selection *selection)
{
    const struct candidates *c = selection->candidates;
    const char *name = NULL;
    bool one_name = true, infiniband = true;

    for (size_t i = 0; i < c->count; i++) {
        const struct interface *interface = c->candidate[i].interface;

        if (!selection->selected[i])
            continue;
        infiniband = infiniband && interface->infiniband;
        one_name = one_name && (!name || strcmp (name, interface->name) == 0);
        name = interface->name;
    }
    if (name && infiniband)
        return "InfiniBand";
    if (selection->routed && !selection->routed->is_network)
        return NULL;
    return one_name ? name : NULL;
}

void describe_networks (const struct selection *selection, char *buf, size_t size)
{
    const char *kind = _kind (selection);
    size_t kind_size = sizeof (" ()") + IF_NAMESIZE, used;

    _print_networks (selection, buf, size - kind_size);
    used = strlen (buf);
    if (kind)
        snprintf (buf + used, size - used, " (%s)", kind);
}

/* Why the wish is not fulfilled. */

/* The most nodes that a message names, and the most networks. */
#define MAX_NODES 8
#define MAX_NETWORKS 4

/* Candidates of which each host should have one: on one network, or on subnets that are routed. */
struct group {
    const struct candidates *candidates;
    struct preference wish;
    int routed; /* the family of the subnets; 0: one network */
    size_t from, to; /* candidate[from..to - 1] */
};

static bool _is_in (const struct group *group, const struct candidate *candidate)
{
    return !candidate->tainted && preference_allows (&group->wish, candidate->interface)
           && (!group->routed || preference_routes (&group->wish, group->routed, &candidate->network));
}

static bool _is_host_in (const struct group *group, size_t host)
{
    const struct candidates *c = group->candidates;

    for (size_t i = group->from; i < group->to; i++)
        if (c->candidate[i].host == host && _is_in (group, &c->candidate[i]))
            return true;
    return false;
}

static size_t _count_hosts (const struct group *group)
{
    size_t hosts = 0;

    for (size_t h = 0; h < group->candidates->hosts; h++)
        hosts += _is_host_in (group, h);
    return hosts;
}

static void _take_larger (struct group *largest, const struct group *group)
{
    if (_count_hosts (group) > _count_hosts (largest))
        *largest = *group;
}

/* The group that most hosts are in. */
static struct group _find_largest (const struct candidates *c, bool infiniband,
                                   const struct netlist *networks)
{
    struct group largest = { c, { infiniband, networks ? &networks->item[0] : NULL }, 0, 0, 0 };

    for (size_t n = 0; n < (networks ? networks->count : 1); n++) {
        struct group group = { c, { infiniband, networks ? &networks->item[n] : NULL }, 0, 0, 0 };

        for (; group.from < c->count; group.from = group.to) {
            group.to = candidates_end_of_network (c, group.from);
            _take_larger (&largest, &group);
        }
        group.from = 0;
        group.routed = AF_INET;
        if (networks)
            _take_larger (&largest, &group);
        group.routed = AF_INET6;
        if (networks)
            _take_larger (&largest, &group);
    }
    return largest;
}

static bool _is_tainted (const struct candidates *c, const struct interface *interface)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->candidate[i].interface == interface)
            return c->candidate[i].tainted;
    return false;
}

/* Why a host has no interface that is meant. */
static const char *_why_none (const struct group *group, const struct candidates_host *host)
{
    bool any = false;

    for (int i = 0; i < host->interfaces; i++)
        any = any || !group->wish.infiniband || host->interface[i].infiniband;
    if (host->interfaces == 0)
        return "it reported no interfaces";
    if (!any)
        return "no InfiniBand interface";
    /* Without an item, one of these would be meant. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    return group->wish.item->is_network ? "no address there" : "no such interface";
}

/* What is wrong with the first interface of the host that is meant. */
static void _print_reason (const struct group *group, size_t h, char *buf, size_t size)
{
    const struct candidates_host *host = &group->candidates->host[h];
    const struct interface *interface;
    struct subnet_text room;
    struct subnet network;
    int i = 0;

    while (i < host->interfaces && !preference_allows (&group->wish, &host->interface[i]))
        i++;
    if (i == host->interfaces) {
        snprintf (buf, size, "%s", _why_none (group, host));
        return;
    }
    interface = &host->interface[i];
    network = subnet_network (&interface->address);
    if (interface_fault (interface))
        snprintf (buf, size, "%s %s", interface->name, interface_fault (interface));
    else
        snprintf (buf, size, "%s is on %s%s", interface->name, subnet_print (&network, &room),
                  _is_tainted (group->candidates, interface) ? ", where two nodes have the same address"
                                                             : "");
}

/*
 * Of the acceptable networks, or of any, take the one that most hosts are on, and list the hosts that are not
 * on it: "n3 (ib0 has no carrier), n4 (no such interface)".
 */
static void _list_missing (const struct candidates *candidates, bool infiniband,
                           const struct netlist *networks, char *buf, size_t size)
{
    const struct group group = _find_largest (candidates, infiniband, networks);
    struct list_text list = { buf, size, ", ", MAX_NODES, 0, 0 };
    char reason[128], item[HOST_NAME_MAX + sizeof (reason)];

    for (size_t h = 0; h < candidates->hosts; h++)
        if (!_is_host_in (&group, h)) {
            _print_reason (&group, h, reason, sizeof (reason));
            snprintf (item, sizeof (item), "%s (%s)", candidates->host[h].node, reason);
            list_text_add (&list, item);
        }
    list_text_end (&list);
}

void describe_wish_shortfall (const struct candidates *candidates, const struct network_wish *wish,
                              bool infiniband, char *buf, size_t size)
{
    bool named = wish->networks.count && (wish->networks_required || !infiniband);
    char networks[192] = "", nodes[512];
    struct list_text list = { networks, sizeof (networks), " or ", 0, 0, 0 };

    for (size_t i = 0; named && i < wish->networks.count; i++)
        list_text_add (&list, wish->networks.item[i].text);
    list_text_end (&list);
    _list_missing (candidates, infiniband, named ? &wish->networks : NULL, nodes, sizeof (nodes));
    snprintf (buf, size, "not all nodes are on %s%s%s: %s", infiniband ? "one InfiniBand network" : "",
              infiniband && named ? " of " : "", networks, nodes);
}

/* "10.1.0.0/16 (eth1)"; without a name where the interface has several. */
static void _add_network (struct list_text *list, const struct group *group)
{
    const struct candidate *candidate = group->candidates->candidate;
    const char *name = candidate[group->from].interface->name;
    char text[sizeof (struct subnet_text) + IF_NAMESIZE + sizeof (" ()")];
    struct subnet_text room;
    bool same = true;

    for (size_t i = group->from; i < group->to; i++)
        same = same && strcmp (candidate[i].interface->name, name) == 0;
    snprintf (text, sizeof (text), same ? "%s (%s)" : "%s",
              subnet_print (&candidate[group->from].network, &room), name);
    list_text_add (list, text);
}

void describe_advice (const struct candidates *candidates, bool infiniband, char *buf, size_t size)
{
    struct group group = { candidates, { infiniband, NULL }, 0, 0, 0 };
    size_t used = (size_t)snprintf (buf, size, "all nodes are on ");
    struct list_text list = { buf + used, size - used, ", ", MAX_NETWORKS, 0, 0 };

    for (; group.from < candidates->count; group.from = group.to) {
        group.to = candidates_end_of_network (candidates, group.from);
        if (_count_hosts (&group) == candidates->hosts)
            _add_network (&list, &group);
    }
    list_text_end (&list);
    if (!list.named)
        buf[0] = '\0';
}
