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
/* The most interfaces of a node, and the most networks. */
#define MAX_NAMES 6
#define MAX_NETWORKS 4

/*
 * What every host should have: an address on one network, or on any subnet of a named one, or on a network of
 * its own.
 */
struct target {
    const struct candidates *candidates;
    bool infiniband;
    const struct netlist_item *item;    /* NULL: no network is named */
    const struct subnet *network;       /* NULL: any that fits */
    int family;                         /* of the address; 0: any */
    bool own;                           /* the network has room for one host only */
    size_t from, to;                    /* the candidates on it */
};

/* In the order in which they are preferred. */
static const int families[] = { AF_INET, AF_INET6 };

struct reason {
    char text[128];
};

static bool _fits_target (const struct target *target, const struct interface *interface)
{
    return (!target->infiniband || interface->infiniband)
           && (!target->item || interface_is_named (interface, target->item));
}

static bool _is_candidate (const struct target *target, const struct candidate *candidate)
{
    return !candidate->tainted && _fits_target (target, candidate->interface)
           && (!target->family || candidate->network.address.family == target->family)
           && (!target->own || subnet_is_own (&candidate->network));
}

static bool _is_on_target (const struct target *target, size_t host)
{
    for (size_t i = target->from; i < target->to; i++) {
        const struct candidate *candidate = &target->candidates->candidate[i];

        if (candidate->host == host && _is_candidate (target, candidate))
            return true;
    }
    return false;
}

static size_t _count_hosts (const struct target *target)
{
    size_t hosts = 0;

    for (size_t h = 0; h < target->candidates->hosts; h++)
        hosts += _is_on_target (target, h);
    return hosts;
}

static void _take_if_better (struct target *best, size_t *most, const struct target *target)
{
    size_t hosts = _count_hosts (target);

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
        target.own = target.item && !target.item->is_network;
        for (size_t family = 0; target.own && family < sizeof (families) / sizeof (families[0]); family++) {
            target.family = families[family];
            _take_if_better (&best, &most, &target);
        }
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
                           : target->own || (target->item && target->item->is_network);
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

/* The names of the host's interfaces that the target does not exclude by their kind, each once. */
static const char *_print_names (const struct target *target, const struct candidates_host *h, char *buf,
                                 size_t size)
{
    struct list_text list = { buf, size, ", ", MAX_NAMES, 0, 0 };

    for (int i = 0, j; i < h->interfaces; i++) {
        for (j = 0; j < i && strcmp (h->interface[j].name, h->interface[i].name) != 0; j++)
            ;
        if (j == i && (!target->infiniband || h->interface[i].infiniband))
            list_text_add (&list, h->interface[i].name);
    }
    return list_text_end (&list);
}

static void _has_none (const struct target *target, size_t host, struct reason *reason)
{
    const struct candidates_host *h = &target->candidates->host[host];
    const char *kind = target->infiniband ? "InfiniBand " : "";
    char names[sizeof (reason->text) - sizeof ("no such InfiniBand interface, but ")];
    bool any = false;

    for (int i = 0; i < h->interfaces; i++)
        any = any || !target->infiniband || h->interface[i].infiniband;
    if (any && target->item && !target->item->is_network)
        snprintf (reason->text, sizeof (reason->text), "no such %sinterface, but %s", kind,
                  _print_names (target, h, names, sizeof (names)));
    else
        snprintf (reason->text, sizeof (reason->text), "%s",
                  h->interfaces == 0 ? "it reported no interfaces"
                  : any              ? "no address there"
                                     : "no InfiniBand interface");
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

/* If each host has such an interface, on whichever network, find the smallest network with all of them. */
static bool _find_cover (struct target target, struct subnet *cover)
{
    const struct candidates *c = target.candidates;

    for (size_t family = 0; family < sizeof (families) / sizeof (families[0]); family++) {
        target.family = families[family];
        cover->address.family = 0;
        for (size_t i = 0; i < c->count; i++)
            if (_is_candidate (&target, &c->candidate[i]))
                subnet_cover (cover, &c->candidate[i].network);
        if (cover->address.family && cover->prefix > 0 && _count_hosts (&target) == c->hosts)
            return true;
    }
    return false;
}

/* "10.1.0.0/16 (eth1)"; without a name where the interface has several. */
static void _add_network (struct list_text *list, const struct target *target)
{
    const struct candidate *candidate = target->candidates->candidate;
    const char *name = candidate[target->from].interface->name;
    char text[sizeof (struct subnet_text) + IF_NAMESIZE + sizeof (" ()")];
    struct subnet_text room;
    bool same = true;

    for (size_t i = target->from; i < target->to; i++)
        same = same && strcmp (candidate[i].interface->name, name) == 0;
    snprintf (text, sizeof (text), same ? "%s (%s)" : "%s", subnet_print (target->network, &room), name);
    list_text_add (list, text);
}

const char *shortfall_advise (const struct candidates *candidates, bool infiniband,
                              const struct netlist *networks, char *buf, size_t size)
{
    struct target target = { .candidates = candidates, .infiniband = infiniband, .to = candidates->count };
    size_t used = (size_t)snprintf (buf, size, "all nodes are on ");
    struct list_text list = { buf + used, size - used, ", ", MAX_NETWORKS, 0, 0 };
    struct subnet_text room;
    struct subnet cover;

    for (size_t i = 0; networks && i < networks->count; i++) {
        target.item = &networks->item[i];
        if (!target.item->is_network && _find_cover (target, &cover)) {
            snprintf (buf, size, "if there are routes between these networks, write --tf-network=%s",
                      subnet_print (&cover, &room));
            return buf;
        }
    }
    target.item = NULL;
    for (target.from = 0; target.from < candidates->count; target.from = target.to) {
        target.network = &candidates->candidate[target.from].network;
        target.to = candidates_end_of_network (candidates, target.from);
        if (_count_hosts (&target) == candidates->hosts)
            _add_network (&list, &target);
    }
    list_text_end (&list);
    if (!list.named)
        buf[0] = '\0';
    return buf;
}
