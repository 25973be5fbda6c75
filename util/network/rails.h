/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the ranks of a host share its InfiniBand interfaces.
 */
#ifndef TF_RAILS_H
#define TF_RAILS_H

#include <stddef.h>

/*
 * Assign an interface to each rank: chosen[i] is its index. cpus[i] is the mask of the CPUs on
 * which the i-th rank may run, local[j] that of the CPUs to which the j-th interface is close
 * (cpus.h); NULL is all CPUs.
 *
 * A rank gets an interface that is close to one of its CPUs, or if there is none, any interface.
 * Ranks with the fewest close interfaces come first, then lower ranks. Each takes the interface
 * with the fewest ranks so far, the lowest one if there are several.
 * -1 if there is no memory.
 */
int rails_spread (size_t *chosen, const char *const *cpus, size_t ranks, const char *const *local,
                  size_t interfaces);

#endif
