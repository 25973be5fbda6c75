/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which task is slow? Supervisors tell steps at different moments. So a task is slow only if it has told a
 * lower step than another one that had told before. Moments are known to the second: in that time, the other
 * one may have done some more.
 */
#ifndef TF_BEHIND_H
#define TF_BEHIND_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/overview.h"

/* Steps that tasks of a step that is well may be apart. */
#define BEHIND_STEPS 2

/*
 * The task that is farthest behind: "worker 3 on n4 is slow: step 86,100; worker 0 reported step 86,118
 * before". False if none is.
 */
bool behind_text (const struct overview *overview, const struct overview_rank *rank, char *buf, size_t size);

#endif
