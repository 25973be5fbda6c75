/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-preflight: the checks of the nodes, for which all that gather wait before they begin: at the start of
 * the step, and when places have moved. One rank of each node makes them, while nothing of the step runs.
 * First each node checks itself; then links, in rounds of pairs. Nodes are compared with each other, and not
 * with a table of machines, so one that is bad among two cannot be told.
 */
#ifndef TF_JOB_PREFLIGHT_H
#define TF_JOB_PREFLIGHT_H

#include "model.h"

/*
 * All that gather are in, and wait for checks. True if they need not wait any more: then ranks of bad nodes
 * are suspect. It goes on at job->preflight.until at the latest.
 */
bool preflight_is_over (struct job *job);

/* What this rank is to check. */
struct check_order preflight_order (const struct job *job, const struct rank *rank);

#endif
