/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the tasks of a step ended, and which failed first.
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
 * The rank that failed first; NULL if none has failed but lost spares, and ranks that were replaced. A rank
 * that a lost connection ended is not the first if another exception ended another task.
 */
const struct rank *ends_first_to_fail (const struct rank *rank, int tasks);

#endif
