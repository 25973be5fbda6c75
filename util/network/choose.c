/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "choose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "rails.h"
#include "selection.h"

#define MAX_PREFERENCES (2 * NETLIST_MAX + 1)

/* List the preferences in their order. Returns how many there are. */
static size_t _list_preferences (const struct network_wish *wish,
                                 struct preference preference[MAX_PREFERENCES])
{
    size_t count = 0;

    for (size_t i = 0; wish->infiniband && i < wish->networks.count; i++)
        preference[count++] = (struct preference){ true, &wish->networks.item[i] };
    if (wish->infiniband && !wish->networks_required)
        preference[count++] = (struct preference){ true, NULL };
    for (size_t i = 0; !wish->infiniband_required && i < wish->networks.count; i++)
        preference[count++] = (struct preference){ false, &wish->networks.item[i] };
    return count;
}

/* Addresses of the selection. */

/* Distribute the ranks of host h over its selected candidates. */
static int _spread_host (const struct selection *selection, size_t h, size_t ranks,
                         const struct candidate *const *option, size_t options)
{
    const struct candidates *c = selection->candidates;
    const size_t *rank = &c->order[c->host[h].first];
    const char **cpus = malloc (ranks * sizeof (char *));
    const char **local = malloc (options * sizeof (char *));
    size_t *chosen = malloc (ranks * sizeof (*chosen));
    int rc = -1;

    for (size_t i = 0; cpus && i < ranks; i++)
        cpus[i] = c->rank[rank[i]].cpus;
    for (size_t i = 0; local && i < options; i++)
        local[i] = option[i]->interface->local_cpus;
    if (cpus && local && chosen)
        rc = rails_spread (chosen, cpus, ranks, local, options);
    for (size_t i = 0; rc == 0 && i < ranks; i++) {
        c->rank[rank[i]].chosen = option[chosen[i]]->interface->address.address;
        c->rank[rank[i]].chosen_interface = option[chosen[i]]->interface->name;
    }
    free (cpus);
    free (local);
    free (chosen);
    return rc;
}

static int _by_interface (const void *a, const void *b)
{
    const struct candidate *ca = *(const struct candidate *const *)a;
    const struct candidate *cb = *(const struct candidate *const *)b;

    if (ca->host != cb->host)
        return ca->host < cb->host ? -1 : 1;
    return (ca->interface > cb->interface) - (ca->interface < cb->interface);
}

/* True if the candidate's interface has a selected address that sorts before the candidate's. */
static bool _has_earlier (const struct candidate *const *option, size_t options,
                          const struct candidate *candidate)
{
    for (size_t i = 0; i < options; i++)
        if (option[i] < candidate && strcmp (option[i]->interface->name, candidate->interface->name) == 0)
            return true;
    return false;
}

/*
 * Keep one address of each interface of a host. A second address of an interface is not another
 * rail, and may be a service's that moves to another host. Returns how many are left.
 */
static size_t _keep_one_each (const struct selection *selection, const struct candidate **option,
                              size_t options)
{
    size_t left = 0;

    for (size_t i = 0; i < options; i++)
        if (_has_earlier (option, options, option[i]))
            selection->selected[option[i] - selection->candidates->candidate] = false;
        else
            option[left++] = option[i];
    return left;
}

static size_t _collect_selected (const struct selection *selection, const struct candidate **option)
{
    const struct candidates *c = selection->candidates;
    size_t options = 0;

    for (size_t i = 0; i < c->count; i++)
        if (selection->selected[i])
            option[options++] = &c->candidate[i];
    qsort (option, options, sizeof (option[0]), _by_interface);
    return options;
}

/* Assign a selected address to every rank. -1 if there is no memory. */
static int _assign (const struct selection *selection, bool *rails)
{
    const struct candidates *c = selection->candidates;
    const struct candidate **option = malloc ((c->count + 1) * sizeof (const struct candidate *));
    size_t options, end;
    int rc = 0;

    if (!option)
        return -1;
    options = _collect_selected (selection, option);
    for (size_t i = 0; rc == 0 && i < options; i = end) {
        size_t h = option[i]->host, left;

        for (end = i; end < options && option[end]->host == h; end++)
            ;
        left = _keep_one_each (selection, &option[i], end - i);
        *rails = *rails || left > 1;
        rc = _spread_host (selection, h, c->host[h].ranks, &option[i], left);
    }
    free (option);
    return rc;
}

/* Addresses by which the hosts reach srun. */

static bool _same_host (const struct host *a, const struct host *b)
{
    return strcmp (a->id, b->id) == 0;
}

static bool _one_host (const struct network_rank *ranks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (!_same_host (ranks[i].host, ranks[0].host))
            return false;
    return true;
}

/* The address at which the lowest rank that is not on srun's host reaches srun; or NULL. */
static const struct address *_srun_for_others (const struct network_rank *ranks, size_t count,
                                               const struct host *own)
{
    for (size_t i = 0; i < count; i++)
        if (!_same_host (ranks[i].host, own) && !address_is_loopback (&ranks[i].srun))
            return &ranks[i].srun;
    return NULL;
}

static int _by_chosen_address (const void *a, const void *b)
{
    const struct network_rank *ra = *(const struct network_rank *const *)a;
    const struct network_rank *rb = *(const struct network_rank *const *)b;
    int order = memcmp (&ra->chosen, &rb->chosen, sizeof (ra->chosen));

    return order ? order : (ra > rb) - (ra < rb);
}

static int _check_unique (const struct network_rank *ranks, size_t count, struct errtext *err)
{
    const struct network_rank **sorted = malloc (count * sizeof (const struct network_rank *));
    struct address_text room;
    int rc = 0;

    if (!sorted)
        return errtext_set (err, "%s", strerror (ENOMEM));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &ranks[i];
    qsort (sorted, count, sizeof (sorted[0]), _by_chosen_address);
    for (size_t i = 1; i < count && rc == 0; i++) {
        const struct network_rank *a = sorted[i - 1], *b = sorted[i];

        if (address_equal (&a->chosen, &b->chosen) && !_same_host (a->host, b->host))
            rc = errtext_set (err,
                              "%s and %s both have the address %s; tasks on other nodes "
                              "cannot tell them apart",
                              a->node, b->node, address_print (&a->chosen, &room));
    }
    free (sorted);
    return rc;
}

static int _take_own_address (struct network_rank *rank, const struct address *srun_for_others,
                              const struct host *own, struct errtext *err)
{
    struct address_text room;

    rank->chosen = rank->here;
    if (address_is_loopback (&rank->here)) {
        if (!_same_host (rank->host, own) || !srun_for_others)
            return errtext_set (err,
                                "%s reaches srun by loopback, %s, which tasks on other "
                                "nodes cannot reach",
                                rank->node, address_print (&rank->here, &room));
        rank->chosen = *srun_for_others;
    }
    if (address_is_link_local (&rank->chosen))
        return errtext_set (err,
                            "%s reaches srun by a link-local address, %s, which tasks on "
                            "other nodes cannot reach",
                            rank->node, address_print (&rank->chosen, &room));
    return 0;
}

static int _take_own_addresses (struct network_rank *ranks, size_t count, const struct host *own,
                                struct errtext *err)
{
    const struct address *srun_for_others = _srun_for_others (ranks, count, own);

    if (_one_host (ranks, count)) {
        for (size_t i = 0; i < count; i++)
            ranks[i].chosen = ranks[i].here;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        if (_take_own_address (&ranks[i], srun_for_others, own, err) < 0)
            return -1;
    return _check_unique (ranks, count, err);
}

/* If ranks of its host use the i-th candidate's address, select it and name its interface. */
static void _find_interface (struct selection *selection, size_t i)
{
    const struct candidates *c = selection->candidates;
    const struct interface *interface = c->candidate[i].interface;
    const struct candidates_host *host = &c->host[c->candidate[i].host];

    for (size_t j = 0; j < host->ranks; j++) {
        struct network_rank *rank = &c->rank[c->order[host->first + j]];

        if (address_equal (&rank->chosen, &interface->address.address)) {
            selection->selected[i] = true;
            rank->chosen_interface = interface->name;
        }
    }
}

/* Choose the default addresses. Select their candidates if they are known for all ranks. */
static int _choose_by_srun (struct selection *selection, size_t count, const struct host *own,
                            struct errtext *err)
{
    const struct candidates *c = selection->candidates;
    bool known = true;

    if (_take_own_addresses (c->rank, count, own, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        c->rank[i].chosen_interface = NULL;
    for (size_t i = 0; i < c->count; i++)
        _find_interface (selection, i);
    for (size_t i = 0; i < count; i++)
        known = known && c->rank[i].chosen_interface;
    if (!known)
        memset (selection->selected, 0, c->count * sizeof (*selection->selected));
    return 0;
}

/* The whole choice. */

static int _refuse_wish (const struct candidates *candidates, const struct network_wish *wish,
                         struct errtext *err)
{
    bool infiniband = wish->infiniband_required;
    char shortfall[sizeof (err->text)], advice[256];

    describe_wish_shortfall (candidates, wish, infiniband, shortfall, sizeof (shortfall));
    describe_advice (candidates, infiniband, advice, sizeof (advice));
    return errtext_set (err, "%s: %s%s%s", infiniband ? "--tf-ib=require" : "--tf-network", shortfall,
                        *advice ? "; " : "", advice);
}

/* The wish was not fulfilled as a whole: say why, and what is used instead. */
static void _add_notice (const struct candidates *candidates, const struct network_wish *wish,
                         struct network_choice *choice)
{
    char shortfall[sizeof (choice->notice) - sizeof (choice->network) - 16];

    describe_wish_shortfall (candidates, wish, wish->infiniband, shortfall, sizeof (shortfall));
    snprintf (choice->notice, sizeof (choice->notice), "%s; using %s", shortfall,
              choice->network[0] ? choice->network : "the address that reaches srun");
}

static int _choose_networks (struct selection *selection, size_t count, const struct host *own,
                             const struct network_wish *wish, struct network_choice *choice,
                             struct errtext *err)
{
    struct preference preference[MAX_PREFERENCES];
    size_t preferences = _list_preferences (wish, preference), i;
    bool fulfilled;

    for (i = 0; i < preferences && !selection_fulfil (selection, &preference[i]); i++)
        ;
    fulfilled = i < preferences;
    if (!fulfilled && (wish->infiniband_required || wish->networks_required))
        return _refuse_wish (selection->candidates, wish, err);
    if (!fulfilled && _choose_by_srun (selection, count, own, err) < 0)
        return -1;
    if (fulfilled && _assign (selection, &choice->rails) < 0)
        return errtext_set (err, "%s", strerror (ENOMEM));
    choice->wished = fulfilled;
    describe_networks (selection, choice->network, sizeof (choice->network));
    if (preferences > 0 && !(fulfilled && preference[i].infiniband == wish->infiniband))
        _add_notice (selection->candidates, wish, choice);
    return 0;
}

int network_choose (struct network_rank *ranks, size_t count, const struct host *own,
                    const struct network_wish *wish, struct network_choice *choice, struct errtext *err)
{
    struct candidates *candidates = candidates_create (ranks, count);
    struct selection selection = { .candidates = candidates };
    int rc = -1;

    memset (choice, 0, sizeof (*choice));
    if (candidates)
        selection.selected = calloc (candidates->count + 1, sizeof (bool));
    if (!selection.selected)
        errtext_set (err, "%s", strerror (ENOMEM));
    else
        rc = _choose_networks (&selection, count, own, wish, choice, err);
    free (selection.selected);
    candidates_destroy (candidates);
    return rc;
}
