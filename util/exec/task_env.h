/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the environment of a task says about its place in the cluster, and the values of all
 * placeholders.
 */
#ifndef TF_TASK_ENV_H
#define TF_TASK_ENV_H

#include <stdbool.h>
#include <stddef.h>

#include "common/errtext.h"
#include "placeholders.h"

struct task_env {
    struct placeholder_values values;
    struct json_t *config;          /* TF_CONFIG; NULL without it, as with --tf-frameworks=torch */
    struct json_t *cluster;         /* config's "cluster" */
    struct beside_names beside;
    char *names;                    /* a copy of SLURM_TF_BESIDE, which those point into */
    char *computed[PLACEHOLDERS];   /* those values that are to be freed */
};

/*
 * Read the environment of this process. 0, then task_env_clear (); -1 and err if SLURM_TF_ROLE or a valid
 * TF_CONFIG is missing, or if TF_CONFIG is that of another task than the variables are. If another variable
 * is missing, only its value is not known.
 */
int task_env_read (struct task_env *task, struct errtext *err);
void task_env_clear (struct task_env *task);

/* True if this task or another one of the step has the role, or the auxiliary name. */
bool task_env_knows_role (const struct task_env *task, const char *role);

/* "ps, worker, data": the roles of the cluster and the auxiliary names (list_text.h). Returns buf. */
const char *task_env_roles (const struct task_env *task, char *buf, size_t size);

/*
 * Set "environment" in TF_CONFIG. -1 and err if the name is not UTF-8, or if TF_CONFIG becomes too
 * long for an environment variable.
 */
int task_env_set_environment (struct task_env *task, const char *name, struct errtext *err);

#endif
