/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The cluster dictionary that TensorFlow reads from TF_CONFIG:
 *
 *     {"cluster":{"ps":["10.0.0.1:40001"],"worker":[…]},"task":{"type":"worker","index":1}}
 *
 * Built once for the whole step. A TF_CONFIG is DICTIONARY_HEAD, the cluster, the tail of
 * its task: the long part is one string for all ranks.
 */
#ifndef TF_DICTIONARY_H
#define TF_DICTIONARY_H

#include <stddef.h>

#include "address.h"
#include "errtext.h"

/*
 * Linux takes no string of 128 KiB or more at exec (MAX_ARG_STRLEN), and Slurm drops a
 * variable whose name, value, '=' and NUL come to that and reports success.
 */
#define DICTIONARY_MAX_TEXT (131072 - (int)sizeof ("TF_CONFIG=") - 1)

struct dictionary_task {
    const char *role;
    int index;              /* within its role, in rank order */
    struct address address;
    int port;
};

struct dictionary;

/*
 * Tasks come in rank order and are not kept. Roles stand in the order of rules_roles, a
 * site's own after them as they come; the evaluator stands in its own dictionary alone.
 * 0 and *dp; -1 and err, also when the longest TF_CONFIG could not exist.
 */
int dictionary_create (struct dictionary **dp, const struct dictionary_task *tasks,
                       size_t count, struct errtext *err);

void dictionary_destroy (struct dictionary *dictionary);

/* What a task of that role has for "cluster"; lives as long as the dictionary. */
const char *dictionary_cluster (const struct dictionary *dictionary, const char *role,
                                size_t *length);

/* Room for the part of one task. */
struct dictionary_tail {
    char text[128];
};

#define DICTIONARY_HEAD "{\"cluster\":"

/* ,"task":{"type":"worker","index":1}} */
const char *dictionary_tail (const char *role, int index, struct dictionary_tail *room);

#endif
