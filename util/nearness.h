/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which interface is near which CPUs. The kernel tells of cards; what it does not, and what
 * somebody tells hwloc of a node, tf-addresses is asked: no daemon of Slurm's is to load hwloc.
 */
#ifndef TF_NEARNESS_H
#define TF_NEARNESS_H

#include "errtext.h"
#include "interface.h"

/* Is there something to ask? Only where a node has more than one InfiniBand interface. */
bool nearness_matters (const struct interface *list, int count);

/*
 * Fill in `near` of the InfiniBand candidates whose place is known: to the kernel; or, unless
 * it knows them all, and where `env` has variables HWLOC_*, to the helper `program`, which is
 * given these alone. The texts point into *room, which belongs to the caller and is to be
 * freed. Some seconds at most. -1 and err when the helper is needed, and missing or failing.
 */
int nearness_ask (struct interface *list, int count, const char *program, char *const env[],
                  char **room, struct errtext *err);

#endif
