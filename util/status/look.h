/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is printed of job steps: a line for each, a table of its tasks or of their stacks, or JSON.
 */
#ifndef TF_LOOK_H
#define TF_LOOK_H

#include <jansson.h>
#include <stdbool.h>

#include "reply.h"

struct look {
    bool lines, stacks, json;
    bool all; /* a row for each task */
    const char *role; /* of the tasks whose stacks are asked for, or NULL */
};

/* An array of these steps. */
json_t *look_json (const struct look *look, const struct replies *replies);

/* To be freed; of JSON it is that array. NULL if there is no memory, or stderr says why. */
char *look_text (const struct look *look, const struct replies *replies);

#endif
