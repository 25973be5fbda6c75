/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which hosts of a step are not on an acceptable network, and why, for a message.
 */
#ifndef TF_SHORTFALL_H
#define TF_SHORTFALL_H

#include <stddef.h>

#include "candidates.h"
#include "common/netlist.h"

/*
 * Of the acceptable networks take the one that most hosts are on, and list the hosts that are not
 * on it: "n3 (ib0 has no carrier), n4 (no such interface)". `networks` may be NULL: any network is
 * acceptable. `size` is 256 or more. Returns buf.
 */
const char *shortfall_describe (const struct candidates *candidates, bool infiniband,
                                const struct netlist *networks, char *buf, size_t size);

/*
 * What the user can write instead: "all nodes are on 10.98.0.0/16 (eth0)", or "". `size` is 256 or more.
 * Returns buf.
 */
const char *shortfall_advise (const struct candidates *candidates, bool infiniband, char *buf, size_t size);

#endif
