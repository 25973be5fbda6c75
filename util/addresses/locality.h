/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which CPUs an InfiniBand interface is close to. sysfs has that for most interfaces. For the
 * others, and if the environment configures hwloc, the program tf-addresses asks hwloc: it is a
 * program of its own so that Slurm's daemons do not load hwloc.
 */
#ifndef TF_LOCALITY_H
#define TF_LOCALITY_H

#include "common/errtext.h"
#include "interface.h"

/* tf-addresses takes about 10 ms; give up on a node where it takes much longer. */
#define LOCALITY_TIMEOUT_MS 10000

/* True if the node has more than one InfiniBand interface, so that there is a choice. */
bool locality_matters (const struct interface *list, int count);

/*
 * Fill in local_cpus of the InfiniBand candidates. Run `program`, which is tf-addresses, only if
 * sysfs does not know every one of them or if `env` has variables HWLOC_*; these make up its
 * whole environment.
 * local_cpus points into *room, which the caller must free, also after -1. -1 and err if the
 * program is needed and cannot be run or fails.
 */
int locality_ask (struct interface *list, int count, const char *program, char *const env[], char **room,
                  struct errtext *err);

#endif
