/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Placeholders in an argument: "--job={role}:{index}" becomes "--job=worker:1", and "{{" becomes
 * one brace. All other braces, such as "}}" and those of other names, stay as they are, so that
 * JSON is not changed. Placeholders in a value are not replaced.
 */
#ifndef TF_PLACEHOLDERS_H
#define TF_PLACEHOLDERS_H

#include <stddef.h>

#include "common/beside.h"
#include "common/errtext.h"

enum placeholder {
    PLACEHOLDER_ROLE,
    PLACEHOLDER_INDEX,
    PLACEHOLDER_ADDRESS,
    PLACEHOLDER_PORT,
    PLACEHOLDER_RANK,
    PLACEHOLDER_NODE,
    PLACEHOLDER_TF_CONFIG,
    PLACEHOLDER_CLUSTER,
    PLACEHOLDER_CHIEF_HOSTS,
    PLACEHOLDER_MASTER_HOSTS,
    PLACEHOLDER_PS_HOSTS,
    PLACEHOLDER_WORKER_HOSTS,
    PLACEHOLDER_EVALUATOR_HOSTS,
    PLACEHOLDER_NUM_PS,
    PLACEHOLDER_NUM_WORKERS,
    PLACEHOLDERS
};

/* The names, without braces; the last element is NULL. */
extern const char *const placeholders_name[PLACEHOLDERS + 1];

/* The environment variable that has the value; NULL if the value is computed. */
extern const char *const placeholders_variable[PLACEHOLDERS];

/* The addresses of the auxiliary tasks with one name. */
struct placeholder_beside {
    char name[BESIDE_MAX_NAME + sizeof ("_hosts")];     /* "data_hosts" */
    const char *hosts;
};

/* By placeholder. NULL: the value is not known. */
struct placeholder_values {
    const char *of[PLACEHOLDERS];
    struct placeholder_beside beside[BESIDE_MAX_NAMES];
    size_t besides;
};

/*
 * Replace all placeholders. 0 and *to, to be freed; -1 and err if a value is not known or there is
 * no memory.
 */
int placeholders_replace (char **to, const char *text, const struct placeholder_values *values,
                          struct errtext *err);

#endif
