/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which task is slow? Supervisors tell steps at different moments. So a task is slow only if it is behind the
 * step that another one had reached, even if it went on at the speed of the job step since it told its own.
 */
#ifndef TF_BEHIND_H
#define TF_BEHIND_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/overview.h"

/* Steps that tasks of a step that is well may be apart, and so many seconds of its steps. */
#define BEHIND_STEPS 2
#define BEHIND_SECONDS 2

/* The slowest one: "worker 3 on n4 is slow: step 86,100; worker 0: step 86,118". False if none is. */
bool behind_text (const struct overview *overview, const struct overview_rank *rank, char *buf, size_t size);

#endif
