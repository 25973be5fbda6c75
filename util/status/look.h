/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is printed of job steps: a line for each, a table of its tasks or of their stacks, or JSON.
 */
#ifndef TF_LOOK_H
#define TF_LOOK_H

#include <stdbool.h>

#include "reply.h"

struct look {
    bool lines, stacks, json;
    bool all; /* a row for each task */
    const char *role; /* of the tasks whose stacks are asked for, or NULL */
};

/* To be freed; of JSON it is an array. NULL if there is no memory, or stderr says why. */
char *look_text (const struct look *look, const struct reply *reply, int count);

/* The number of its job. */
int look_job (const struct reply *reply);

#endif
