/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The cluster dictionary that TensorFlow reads from TF_CONFIG:
 *
 *     {"cluster":{"ps":["10.0.0.1:40001"],"worker":[…]},"task":{"type":"worker","index":1}}
 *
 * It is built once for the whole step. A task's TF_CONFIG is TF_CONFIG_HEAD (common/tf_config.h),
 * the cluster, and the tail of the task, so the long part is one string for all tasks. So are the
 * variables with the addresses of the auxiliary tasks (common/beside.h).
 */
#ifndef TF_DICTIONARY_H
#define TF_DICTIONARY_H

#include <stddef.h>

#include "common/errtext.h"

struct place;

struct dictionary_text {
    char *text;
    size_t length;
};

struct dictionary {
    struct dictionary_text cluster;
    struct dictionary_text evaluators; /* the same for evaluators; empty if there is none */
    /* For every task: strings as "SLURM_TF_DATA=10.0.0.1:40001", each with its NUL; or empty. */
    struct dictionary_text beside;
};

/*
 * The places of a role are in the order of their indices, and have their ranks. The dictionary has
 * TensorFlow's roles in the order of enum rules_name, and then the site's own roles in the order of their
 * first places. Only an evaluator's own dictionary has the evaluator; none has an auxiliary task.
 * -1 and err, also if a TF_CONFIG, together with the variables of the auxiliary tasks, would be longer than
 * TF_CONFIG_MAX_TEXT; then it is empty.
 */
int dictionary_make (struct dictionary *dictionary, const struct place *place, size_t places,
                     struct errtext *err);

/* A zeroed one is empty. */
void dictionary_clear (struct dictionary *dictionary);

/* The "cluster" of a task with that role. */
const struct dictionary_text *dictionary_cluster (const struct dictionary *dictionary, const char *role);

/* A buffer for dictionary_tail (). */
struct dictionary_tail {
    char text[128];
};

/* Returns room->text: ,"task":{"type":"worker","index":1}}; for "+data" the type is "data". */
const char *dictionary_tail (const char *role, int index, struct dictionary_tail *room);

#endif
