/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the tasks of a step ended: which failed first, and whether each has trained alone.
 */
#ifndef TF_ENDS_H
#define TF_ENDS_H

#include <stdbool.h>

#include "model.h"

/* True if the task was asked to end, and ended with a code which says that its work is saved. */
bool ends_has_saved (const struct end *end);

/* True if the first failure is an end that was asked for. */
bool ends_are_cancelled (const struct rank *rank, int tasks);

/*
 * The rank that failed first; NULL if none has failed but lost spares, and ranks whose spares have begun. A
 * rank that a lost connection ended is not the first if another exception ended another task.
 */
const struct rank *ends_first_to_fail (const struct rank *rank, int tasks);

/*
 * Has each task trained alone? A script without a strategy, or one for another launcher, reads neither
 * TF_CONFIG nor MASTER_PORT: each task trains a model of its own, and exits with 0. Its supervisor has then
 * seen that no program has ever listened on the address that the others were told (supervise/listener.h), or
 * has had a connection to a host of the step (supervise/connections.h), as a script that has its own port.
 *
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
