/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The choice of a network in words, for messages.
 */
#ifndef TF_NETWORK_DESCRIBE_H
#define TF_NETWORK_DESCRIBE_H

#include <stddef.h>

#include "choose.h"
#include "selection.h"

/* "10.1.0.0/16 (eth1)", "10.1.0.0/16 and 10.2.0.0/16 (InfiniBand)", "hsn0"; "" if nothing is selected. */
void describe_networks (const struct selection *selection, char *buf, size_t size);

/*
 * Why no network of the wish was chosen, InfiniBand or any:
 * "not all nodes are on one InfiniBand network: n3 (ib0 has no carrier)".
 */
void describe_wish_shortfall (const struct candidates *candidates, const struct network_wish *wish,
                              bool infiniband, char *buf, size_t size);

/* What the user can write instead: "all nodes are on 10.98.0.0/16 (eth0)", or "". `size` is 256 or more. */
void describe_advice (const struct candidates *candidates, bool infiniband, char *buf, size_t size);

#endif
