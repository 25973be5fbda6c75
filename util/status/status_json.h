/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An overview as JSON; doc/status.schema.json describes it.
 */
#ifndef TF_STATUS_JSON_H
#define TF_STATUS_JSON_H

#include <jansson.h>

#include "protocol/overview.h"
#include "stacks.h"

/* With `overview->rows` tasks, and where they are, or NULL. NULL if there is no memory. */
json_t *status_json (const struct overview *overview, const struct overview_rank *rank,
                     const struct stack *stack);

#endif
