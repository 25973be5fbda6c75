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

struct selection {
    const struct candidates *candidates;
    bool *selected;                     /* by candidate */
    const struct netlist_item *routed;  /* the hosts are on different subnets of it; or NULL */
};

/*
 * Select the candidates that fulfil the preference: on all common InfiniBand networks, or on one
 * common network of another kind, or on different subnets of a network that is named by its
 * prefix or, if each has room for one host only (subnet_is_own ()), by its interface. `selected` must be
 * zero. False, and nothing is selected, if that is not possible.
 */
bool selection_fulfil (struct selection *selection, const struct preference *preference);

#endif
