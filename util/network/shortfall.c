/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "shortfall.h"

#include <stdio.h>
#include <string.h>

#include "common/list_text.h"

/* The most nodes that a message names. */
#define MAX_NAMED 16

/* What every host should have: an address on one network, or on any subnet of a named one. */
struct target {
    const struct candidates *candidates;
    bool infiniband;
    const struct netlist_item *item;    /* NULL: no network is named */
    const struct subnet *network;       /* NULL: any that fits */
    size_t from, to;                    /* the candidates on it */
};

struct reason {
    char text[128];
};

static bool _fits_target (const struct target *target, const struct interface *interface)
{
    return (!target->infiniband || interface->infiniband)
           && (!target->item || interface_is_named (interface, target->item));
}

static bool _is_on_target (const struct target *target, size_t host)
{
    for (size_t i = target->from; i < target->to; i++) {
        const struct candidate *candidate = &target->candidates->candidate[i];

        if (candidate->host == host && !candidate->tainted && _fits_target (target, candidate->interface))
            return true;
    }
    return false;
}

static void _take_if_better (struct target *best, size_t *most, const struct target *target)
{
    size_t hosts = 0;

    for (size_t h = 0; h < target->candidates->hosts; h++)
        hosts += _is_on_target (target, h);
    if (hosts > *most) {
        *most = hosts;
        *best = *target;
    }
}

/* Consider every network on which a candidate is. */
static void _try_each_network (struct target *best, size_t *most, struct target target)
{
    const struct candidates *c = target.candidates;

    for (; target.from < c->count; target.from = target.to) {
        target.network = &c->candidate[target.from].network;
        target.to = candidates_end_of_network (c, target.from);
        _take_if_better (best, most, &target);
    }
}

/* The acceptable network that most hosts are on. */
static struct target _most_common (const struct candidates *c, bool infiniband,
                                   const struct netlist *networks)
{
    size_t items = networks ? networks->count : 1, most = 0;
    struct target best = { .candidates = c,
                           .infiniband = infiniband,
                           .item = networks ? &networks->item[0] : NULL };

    for (size_t i = 0; i < items; i++) {
        struct target target = { .candidates = c,
                                 .infiniband = infiniband,
                                 .to = c->count,
                                 .item = networks ? &networks->item[i] : NULL };

        if (target.item && target.item->is_network)
            _take_if_better (&best, &most, &target);
        else
            _try_each_network (&best, &most, target);
    }
    return best;
}

/* True if the interface has an address on the network, usable or not. */
static bool _is_there (const struct target *target, const struct interface *interface)
{
    struct subnet network = subnet_network (&interface->address);

    if (!interface->address.address.family || !_fits_target (target, interface))
        return false;
    return target->network ? subnet_compare (&network, target->network) == 0
                           : target->item && target->item->is_network;
}

/* True if the interface could be on the network if it had an address. */
static bool _could_be_there (const struct target *target, const struct interface *interface)
{
    return _fits_target (target, interface)
           || (target->infiniband && interface->infiniband && target->item->is_network
               && !interface->address.address.family);
}

/* Fill in the fault of the host's first interface that has one and for which `is_meant` is true. */
static bool _has_fault (const struct target *target, size_t host, struct reason *reason,
                        bool (*is_meant) (const struct target *, const struct interface *))
{
    const struct candidates_host *h = &target->candidates->host[host];

    for (int i = 0; i < h->interfaces; i++) {
        const char *fault = interface_fault (&h->interface[i]);

        if (!fault || !is_meant (target, &h->interface[i]))
            continue;
        snprintf (reason->text, sizeof (reason->text), "%s %s", h->interface[i].name, fault);
        return true;
    }
    return false;
}

/* The host has a suitable address on another network, or one that another host has too. */
static bool _is_elsewhere (const struct target *target, size_t host, struct reason *reason)
{
    const struct candidates *c = target->candidates;
    struct subnet_text room;

    for (size_t i = 0; i < c->count; i++) {
        const struct candidate *other = &c->candidate[i];

        if (other->host != host || !_fits_target (target, other->interface))
            continue;
        snprintf (reason->text, sizeof (reason->text), "%s is on %s%s", other->interface->name,
                  subnet_print (&other->network, &room),
                  other->duplicate ? ", where another node has the same address"
                  : other->tainted ? ", where two nodes have the same address"
                                   : "");
        return true;
    }
    return false;
}

static void _has_none (const struct target *target, size_t host, struct reason *reason)
{
    const struct candidates_host *h = &target->candidates->host[host];
    bool infiniband = false;

    for (int i = 0; i < h->interfaces; i++)
        infiniband = infiniband || h->interface[i].infiniband;
    snprintf (reason->text, sizeof (reason->text), "%s",
              h->interfaces == 0                         ? "it reported no interfaces"
              : target->infiniband && !infiniband        ? "no InfiniBand interface"
              : target->item && target->item->is_network ? "no address there"
              : target->infiniband                       ? "no such InfiniBand interface"
                                                         : "no such interface");
}

/* False if the host is on the network. */
static bool _falls_short (const struct target *target, size_t host, struct reason *reason)
{
    if (_is_on_target (target, host))
        return false;
    if (!_has_fault (target, host, reason, _is_there) && !_is_elsewhere (target, host, reason)
        && !_has_fault (target, host, reason, _could_be_there))
        _has_none (target, host, reason);
    return true;
}

/* A list of nodes. A reason stands once, behind the last of the neighbours that share it. */
struct nodes {
    struct list_text list;
    size_t size;                        /* of the whole buffer; the list leaves room for a reason */
    bool open;                          /* the reason of the last node is not printed yet */
    struct reason reason;
};

static void _print_reason (struct nodes *nodes)
{
    size_t used = strlen (nodes->list.buf);

    if (nodes->open)
        snprintf (nodes->list.buf + used, nodes->size - used, " (%s)", nodes->reason.text);
    nodes->open = false;
}

static void _add_node (struct nodes *nodes, const char *node, const struct reason *reason)
{
    size_t named = nodes->list.named;

    if (strcmp (reason->text, nodes->reason.text) != 0)
        _print_reason (nodes);
    list_text_add (&nodes->list, node);
    if (nodes->list.named > named) {
        nodes->reason = *reason;
        nodes->open = true;
    }
}

const char *shortfall_describe (const struct candidates *candidates, bool infiniband,
                                const struct netlist *networks, char *buf, size_t size)
{
    const struct target target = _most_common (candidates, infiniband, networks);
    struct reason reason;
    struct nodes nodes = {
        .list = { buf, size - sizeof (reason.text) - sizeof (" ()"), ", ", MAX_NAMED, 0, 0 },
        .size = size,
    };

    for (size_t h = 0; h < candidates->hosts; h++)
        if (_falls_short (&target, h, &reason))
            _add_node (&nodes, candidates->host[h].node, &reason);
    _print_reason (&nodes);
    nodes.list.size = size;
    return list_text_end (&nodes.list);
}
