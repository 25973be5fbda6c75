/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The value of --tf-preflight: what is checked on each node before the first run.
 */
#ifndef TF_PREFLIGHT_H
#define TF_PREFLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "choice.h"
#include "errtext.h"

enum preflight_item {
    PREFLIGHT_FILES = 1, /* the working directory and the log directory can be written to */
    PREFLIGHT_CLOCK = 2, /* the clock is that of the others */
    PREFLIGHT_GPUS = 4, /* the GPUs that Slurm has given can be opened */
    PREFLIGHT_LINKS = 8, /* the node reaches others, and as fast as they do */
    PREFLIGHT_ALL = 15,
    PREFLIGHT_PROGRAM = 16,
};

#define PREFLIGHT_SECONDS 60
#define PREFLIGHT_MOST_SECONDS 3600

struct preflight_rule {
    unsigned int items; /* of enum preflight_item; 0: there is no preflight */
    bool warn; /* a bad node is used all the same, if there is no spare */
    int seconds; /* that a node has for all but links */
    const char *program; /* with PREFLIGHT_PROGRAM: a part of the value, */
    int length; /* ... so long */
};

/* The words of items that users know, and warn; for preflight_parse () and the help. */
extern const struct choice preflight_words[];

/* The rule points into the value. -1 and err if it is not valid. */
int preflight_parse (struct preflight_rule *rule, const char *value, struct errtext *err);

/* False for "no" and what else users write for it. */
bool preflight_is_on (const char *value);

#endif
