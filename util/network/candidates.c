/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "candidates.h"

#include <stdlib.h>
#include <string.h>

static int _by_host_then_rank (const void *a, const void *b, void *ranks)
{
    const struct network_rank *rank = ranks;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    int order = strcmp (rank[i].host->id, rank[j].host->id);

    return order ? order : (i > j) - (i < j);
}

static int _by_first_rank (const void *a, const void *b, void *order)
{
    const struct candidates_host *ha = a, *hb = b;
    const size_t *rank = order;

    return (rank[ha->first] > rank[hb->first]) - (rank[ha->first] < rank[hb->first]);
}

static int _by_network (const void *a, const void *b)
{
    const struct candidate *ca = a, *cb = b;
    int order = subnet_compare (&ca->network, &cb->network);

    if (order == 0)
        order = (ca->host > cb->host) - (ca->host < cb->host);
    return order ? order : (ca->interface > cb->interface) - (ca->interface < cb->interface);
}

static int _by_claimed_address (const void *a, const void *b)
{
    const struct candidate *ca = a, *cb = b;
    const struct address *aa = &ca->interface->address.address;
    const struct address *ab = &cb->interface->address.address;

    if (aa->family != ab->family)
        return aa->family < ab->family ? -1 : 1;
    return memcmp (aa->bytes, ab->bytes, sizeof (aa->bytes));
}

/* Use the interfaces that the host's lowest rank reported. */
static void _add_rank (struct candidates_host *host, const struct network_rank *rank)
{
    host->ranks++;
    if (host->interfaces == 0) {
        host->interface = rank->interface;
        host->interfaces = rank->interfaces;
    }
}

static int _group (struct candidates *c, size_t ranks)
{
    c->order = malloc (ranks * sizeof (*c->order));
    c->host = calloc (ranks, sizeof (*c->host));
    if (!c->order || !c->host)
        return -1;
    for (size_t i = 0; i < ranks; i++)
        c->order[i] = i;
    qsort_r (c->order, ranks, sizeof (*c->order), _by_host_then_rank, c->rank);
    for (size_t i = 0; i < ranks; i++) {
        const struct network_rank *rank = &c->rank[c->order[i]];

        if (i == 0 || strcmp (rank->host->id, c->rank[c->order[i - 1]].host->id) != 0)
            c->host[c->hosts++] = (struct candidates_host){ .node = rank->node, .first = i };
        _add_rank (&c->host[c->hosts - 1], rank);
    }
    qsort_r (c->host, c->hosts, sizeof (*c->host), _by_first_rank, c->order);
    return 0;
}

/* An interface without carrier still answers for its address, one that is down does not. */
static bool _claims_address (const struct interface *interface)
{
    return interface->state != INTERFACE_DOWN && interface->address.address.family;
}

/* Collect all interfaces that claim an address, also those that cannot be candidates. */
static int _collect_claims (struct candidates *c)
{
    size_t most = 1;

    for (size_t h = 0; h < c->hosts; h++)
        most += (size_t)c->host[h].interfaces;
    if (!(c->candidate = calloc (most, sizeof (*c->candidate))))
        return -1;
    for (size_t h = 0; h < c->hosts; h++)
        for (int i = 0; i < c->host[h].interfaces; i++) {
            const struct interface *interface = &c->host[h].interface[i];

            if (_claims_address (interface))
                c->candidate[c->count++] = (struct candidate){
                    .host = h,
                    .interface = interface,
                    .network = subnet_network (&interface->address),
                };
        }
    return 0;
}

size_t candidates_end_of_network (const struct candidates *c, size_t i)
{
    size_t end = i + 1;

    while (end < c->count && subnet_compare (&c->candidate[end].network, &c->candidate[i].network) == 0)
        end++;
    return end;
}

/* An address that several hosts have cannot be used: any of them may answer. */
static void _mark_duplicates (struct candidates *c)
{
    qsort (c->candidate, c->count, sizeof (*c->candidate), _by_claimed_address);
    for (size_t i = 0, end; i < c->count; i = end) {
        bool duplicate = false;

        for (end = i; end < c->count && _by_claimed_address (&c->candidate[i], &c->candidate[end]) == 0;
             end++)
            duplicate = duplicate || c->candidate[end].host != c->candidate[i].host;
        for (size_t j = i; j < end; j++)
            c->candidate[j].duplicate = duplicate;
    }
}

/* Remove the claims of interfaces without carrier, and sort the rest by network. */
static void _keep_candidates (struct candidates *c)
{
    size_t claims = c->count;

    c->count = 0;
    for (size_t i = 0; i < claims; i++)
        if (interface_is_candidate (c->candidate[i].interface))
            c->candidate[c->count++] = c->candidate[i];
    qsort (c->candidate, c->count, sizeof (*c->candidate), _by_network);
}

static void _mark_tainted (struct candidates *c)
{
    for (size_t i = 0, end; i < c->count; i = end) {
        bool tainted = false;

        end = candidates_end_of_network (c, i);
        for (size_t j = i; j < end; j++)
            tainted = tainted || c->candidate[j].duplicate;
        for (size_t j = i; j < end; j++)
            c->candidate[j].tainted = tainted;
    }
}

struct candidates *candidates_create (struct network_rank *ranks, size_t count)
{
    struct candidates *c = calloc (1, sizeof (*c));

    if (!c)
        return NULL;
    c->rank = ranks;
    if (_group (c, count) < 0 || _collect_claims (c) < 0) {
        candidates_destroy (c);
        return NULL;
    }
    _mark_duplicates (c);
    _keep_candidates (c);
    _mark_tainted (c);
    return c;
}

void candidates_destroy (struct candidates *c)
{
    if (!c)
        return;
    free (c->candidate);
    free (c->host);
    free (c->order);
    free (c);
}
