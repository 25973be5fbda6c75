/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Has each task trained alone? A script without a strategy, or one for another launcher, reads neither
 * TF_CONFIG nor MASTER_PORT: each task trains a model of its own, and exits with 0. Its supervisor has then
 * seen that no program has ever listened on the address that the others were told (supervise/listener.h), or
 * has had a connection to a host of the step (supervise/connections.h), as a script that has its own port.
 */
#ifndef TF_ALONE_H
#define TF_ALONE_H

#include <stdbool.h>

#include "model.h"

/*
 * All tasks have ended. True if none of the cluster has failed or used its address, and at least two of them
 * ran longer than a minute. Where one may have, as one that is lost, the answer is false; so it is with a
 * single task beside its evaluator, which has nothing to connect to. Of frameworks whose process 0 alone
 * serves the others, as JAX and PyTorch, one used address is enough.
 */
bool alone_is_likely (const struct rank *rank, int tasks);

/* True if this rank is one of those. */
bool alone_counts (const struct rank *rank);

/* True if one of these addresses is that of another task: it belongs to a host of the step. */
bool alone_has_met (const struct rank *rank, int tasks, const struct life_peers *peers);

#endif
