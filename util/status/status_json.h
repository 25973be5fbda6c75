/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An overview as JSON; doc/status.schema.json describes it.
 */
#ifndef TF_STATUS_JSON_H
#define TF_STATUS_JSON_H

#include <jansson.h>

#include "reply.h"

/* With its tasks, and where they are, if they were asked. NULL if there is no memory. */
json_t *status_json (const struct reply *reply);

#endif
