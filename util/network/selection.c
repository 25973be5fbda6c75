/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "selection.h"

#include <stdlib.h>
#include <string.h>

/* True if the item names the interface, or the network of its address. */
static bool _is_named (const struct interface *interface, const struct netlist_item *item)
{
    if (!item->is_network)
        return strcmp (item->text, interface->name) == 0;
    return interface->address.address.family && subnet_has (&item->network, &interface->address.address);
}

bool preference_allows (const struct preference *preference, const struct interface *interface)
{
    return (!preference->infiniband || interface->infiniband)
           && (!preference->item || _is_named (interface, preference->item));
}

bool preference_routes (const struct preference *preference, int family, const struct subnet *subnet)
{
    /* It has room for one host and a router at most: /30 to /32, /126 to /128. */
    bool is_own = subnet->prefix >= (family == AF_INET ? 32 : 128) - 2;

    return subnet->address.family == family && (preference->item->is_network || is_own);
}

static bool _fits_preference (const struct preference *preference, const struct candidate *candidate)
{
    return !candidate->tainted && preference_allows (preference, candidate->interface);
}

/* True if every host has one of the candidates i to end - 1, which are sorted by host. */
static bool _has_every_host (const struct preference *preference, const struct candidates *c, size_t i,
                             size_t end)
{
    size_t hosts = 0;

    for (; i < end; i++)
        if (c->candidate[i].host == hosts && _fits_preference (preference, &c->candidate[i]))
            hosts++;
        else if (c->candidate[i].host > hosts)
            return false;
    return hosts == c->hosts;
}

/* True if a host reaches srun over the network of the candidates i to end - 1. */
static bool _reaches_srun (const struct candidates *c, size_t i, size_t end)
{
    for (; i < end; i++) {
        const struct candidate *candidate = &c->candidate[i];
        size_t rank = c->order[c->host[candidate->host].first];

        if (address_equal (&candidate->interface->address.address, &c->rank[rank].here))
            return true;
    }
    return false;
}

static bool _is_common (const struct preference *preference, const struct candidates *c, size_t i, size_t end,
                        int family)
{
    return c->candidate[i].network.address.family == family && _has_every_host (preference, c, i, end);
}

static void _select (struct selection *selection, const struct preference *preference, size_t i, size_t end)
{
    for (; i < end; i++)
        selection->selected[i] = _fits_preference (preference, &selection->candidates->candidate[i]);
}

/* Select every InfiniBand network of that family that all hosts are on. */
static bool _select_infiniband (struct selection *selection, const struct preference *preference, int family)
{
    const struct candidates *c = selection->candidates;
    bool found = false;

    for (size_t i = 0, end; i < c->count; i = end) {
        end = candidates_end_of_network (c, i);
        if (_is_common (preference, c, i, end, family)) {
            _select (selection, preference, i, end);
            found = true;
        }
    }
    return found;
}

/*
 * Select one network of that family that all hosts are on: the first by which a host reaches
 * srun, or if there is none, the first.
 */
static bool _select_one (struct selection *selection, const struct preference *preference, int family)
{
    const struct candidates *c = selection->candidates;
    size_t best = c->count, best_end = c->count;
    bool reaches = false;

    for (size_t i = 0, end; i < c->count && !reaches; i = end) {
        end = candidates_end_of_network (c, i);
        if (!_is_common (preference, c, i, end, family))
            continue;
        reaches = _reaches_srun (c, i, end);
        if (best == c->count || reaches) {
            best = i;
            best_end = end;
        }
    }
    _select (selection, preference, best, best_end);
    return best < c->count;
}

static bool _select_common (struct selection *selection, const struct preference *preference, int family)
{
    return preference->infiniband ? _select_infiniband (selection, preference, family)
                                  : _select_one (selection, preference, family);
}

/* Find each host's first candidate that select_routed () may use. False if a host has none. */
static bool _find_routed (const struct candidates *c, const struct preference *preference, int family,
                          size_t *first)
{
    for (size_t h = 0; h < c->hosts; h++)
        first[h] = c->count;
    for (size_t i = 0; i < c->count; i++) {
        size_t *host_first = &first[c->candidate[i].host];

        if (_fits_preference (preference, &c->candidate[i])
            && preference_routes (preference, family, &c->candidate[i].network)
            && (*host_first == c->count || c->candidate[i].interface < c->candidate[*host_first].interface))
            *host_first = i;
    }
    for (size_t h = 0; h < c->hosts; h++)
        if (first[h] == c->count)
            return false;
    return true;
}

/*
 * Select one address of each host: on any subnet of the network that the user named, or of the interface that
 * the user named, where it has a network of its own on each host.
 */
static bool _select_routed (struct selection *selection, const struct preference *preference, int family)
{
    const struct candidates *c = selection->candidates;
    size_t *first;
    bool found;

    if (!preference->item || !(first = malloc (c->hosts * sizeof (*first))))
        return false;
    if ((found = _find_routed (c, preference, family, first))) {
        for (size_t h = 0; h < c->hosts; h++)
            selection->selected[first[h]] = true;
        selection->routed = preference->item;
    }
    free (first);
    return found;
}

bool selection_fulfil (struct selection *selection, const struct preference *preference)
{
    return _select_common (selection, preference, AF_INET) || _select_common (selection, preference, AF_INET6)
           || _select_routed (selection, preference, AF_INET)
           || _select_routed (selection, preference, AF_INET6);
}
