/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Those candidates of all hosts from which the ranks' addresses are chosen.
 */
#ifndef TF_NETWORK_SELECTION_H
#define TF_NETWORK_SELECTION_H

#include <stdbool.h>

#include "candidates.h"
#include "common/netlist.h"
#include "common/subnet.h"

/* One of the user's or the site's preferences. It is fulfilled if every host has such a network. */
struct preference {
    bool infiniband;
    const struct netlist_item *item;    /* NULL: any network */
};

/* The interface is of this kind, and is the one that is named, or on the network that is named. */
bool preference_allows (const struct preference *preference, const struct interface *interface);

/*
 * It names something, and hosts may be on different subnets of that family, this one among them: a network is
 * named by its prefix, or an interface, and the subnet has room for one host only, as the links of a routed
 * fabric have.
 */
bool preference_routes (const struct preference *preference, int family, const struct subnet *subnet);

struct selection {
    const struct candidates *candidates;
    bool *selected;                     /* by candidate */
    const struct netlist_item *routed;  /* the hosts are on different subnets of it; or NULL */
};

/*
 * Select the candidates that fulfil the preference: on all common InfiniBand networks, or on one common
 * network of another kind, or on different subnets (preference_routes ()). `selected` must be zero. False,
 * and nothing is selected, if that is not possible.
 */
bool selection_fulfil (struct selection *selection, const struct preference *preference);

#endif
