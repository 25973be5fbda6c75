/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "describe.h"

#include <stdio.h>
#include <string.h>

#include "common/list_text.h"
#include "shortfall.h"

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

void describe_wish_shortfall (const struct candidates *candidates, const struct network_wish *wish,
                              bool infiniband, char *buf, size_t size)
{
    bool named = wish->networks.count && (wish->networks_required || !infiniband);
    char networks[192] = "", nodes[512];
    struct list_text list = { networks, sizeof (networks), " or ", 0, 0, 0 };

    for (size_t i = 0; named && i < wish->networks.count; i++)
        list_text_add (&list, wish->networks.item[i].text);
    list_text_end (&list);
    shortfall_describe (candidates, infiniband, named ? &wish->networks : NULL, nodes, sizeof (nodes));
    snprintf (buf, size, "not all nodes are on %s%s%s: %s", infiniband ? "one InfiniBand network" : "",
              infiniband && named ? " of " : "", networks, nodes);
}
