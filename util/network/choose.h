/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The choice of every rank's address, made once for the whole step. It is a pure function of what
 * the ranks reported: the result is an address for each of them, or a refusal.
 */
#ifndef TF_NETWORK_CHOOSE_H
#define TF_NETWORK_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "addresses/host.h"
#include "candidates.h"
#include "common/errtext.h"
#include "common/netlist.h"

struct network_wish {
    bool infiniband;            /* --tf-ib=auto or require */
    bool infiniband_required;
    struct netlist networks;    /* in order of preference; empty: any */
    bool networks_required;     /* by the user; otherwise they are the site's preference */
};

struct network_choice {
    char network[256];          /* "10.1.0.0/16 (InfiniBand)"; "" if it is not known */
    bool wished;                /* it is one of the wish, not the address that reaches srun */
    bool rails;                 /* a host uses more than one interface */
    char notice[1024];          /* which wish was not fulfilled, and what is used; or "" */
};

/*
 * Choose `chosen` of every rank. The first of these that every host has is used:
 *
 *     1. InfiniBand on one of the named networks, in their order
 *     2. InfiniBand on any network, unless the user named networks
 *     3. one of the named networks, in their order, unless InfiniBand is required
 *     4. the address by which the host reaches srun, unless the user named networks or required
 *        InfiniBand
 *
 * 1 and 2 are skipped if the wish is without InfiniBand.
 *
 * A host is on a network if one of its interfaces has an address there, is up and has carrier. A
 * network on which two hosts have the same address is not used, even if one of them has no
 * carrier. If all hosts are on several InfiniBand networks, all of them are used, and each rank
 * gets the interface that is close to its CPUs (rails.h). If a network is named by its prefix, the
 * hosts may be on different subnets of it. If it is named by an interface, the hosts may be on different
 * subnets if each of these has room for one host only, as on a routed fabric.
 *
 * In case 4, a host that reaches srun by loopback is srun's own host, `own`; it gets the address at
 * which the other hosts reach srun. If all ranks are on one host, they may use loopback. It is an
 * error if two hosts have the same address.
 *
 * -1 and err, which names nodes.
 */
int network_choose (struct network_rank *ranks, size_t count, const struct host *own,
                    const struct network_wish *wish, struct network_choice *choice, struct errtext *err);

#endif
