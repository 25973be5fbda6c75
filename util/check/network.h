/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * By which addresses do other nodes reach this host?
 */
#ifndef TF_NETWORK_H
#define TF_NETWORK_H

#include "addresses/interface.h"
#include "findings.h"
#include "installation.h"

/*
 * Say for each InfiniBand interface whether it would be used, whether this host is on one of the
 * networks of network=, and at which address its tasks would be reached.
 */
void network_check (const struct installation *installation, struct findings *findings);

/*
 * The same for the given interfaces, and for `own`, which is the address that faces slurmctld's
 * host; NULL: not known.
 */
void network_check_interfaces (const struct interface *list, int count, const struct address *own,
                               const struct installation *installation, struct findings *findings);

#endif
