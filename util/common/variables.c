/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "variables.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

const struct variable variable_table[] = {
    { "SLURM_TF_ROLE", VARIABLE_BY_RENDEZVOUS, VARIABLE_OWN },
    { "SLURM_TF_INDEX", VARIABLE_BY_RENDEZVOUS, VARIABLE_OWN },
    { "SLURM_TF_ADDRESS", VARIABLE_BY_RENDEZVOUS, VARIABLE_OWN },
    { "SLURM_TF_PORT", VARIABLE_BY_RENDEZVOUS, VARIABLE_OWN },
    { "SLURM_TF_BESIDE", VARIABLE_BY_RENDEZVOUS, VARIABLE_OWN },
    { "SLURM_TF_INTERFACE", VARIABLE_BY_TASK, VARIABLE_OWN },
    { "SLURM_TF_RESTART", VARIABLE_BY_TASK, VARIABLE_OWN },
    { "SLURM_TF_ADDED", VARIABLE_BY_TASK, VARIABLE_OWN },
    { "SLURM_TF_RENDEZVOUS", VARIABLE_BY_SRUN, VARIABLE_OWN },
    { "SLURM_TF_LOG_DIR", VARIABLE_BY_SRUN, VARIABLE_OWN },
    { "SLURM_TF_RUN", VARIABLE_BY_SRUN, VARIABLE_OWN },
    { "TF_CONFIG", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "CUDA_VISIBLE_DEVICES", VARIABLE_BY_RENDEZVOUS, VARIABLE_OWN },
    { "ROCR_VISIBLE_DEVICES", VARIABLE_BY_RENDEZVOUS, VARIABLE_OWN },
    { "HIP_VISIBLE_DEVICES", VARIABLE_BY_RENDEZVOUS, VARIABLE_OWN },
    { "ZE_AFFINITY_MASK", VARIABLE_BY_RENDEZVOUS, VARIABLE_OWN },
    { "KERAS_DISTRIBUTION_JOB_ADDRESSES", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "KERAS_DISTRIBUTION_NUM_PROCESSES", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "KERAS_DISTRIBUTION_PROCESS_ID", VARIABLE_BY_RENDEZVOUS, VARIABLE_NUMBER },
    { "JAX_COORDINATOR_ADDRESS", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "JAX_LOCAL_DEVICE_IDS", VARIABLE_BY_TASK, VARIABLE_PREFERENCE },
    { "MASTER_ADDR", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "MASTER_PORT", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "RANK", VARIABLE_BY_RENDEZVOUS, VARIABLE_NUMBER },
    { "WORLD_SIZE", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "LOCAL_RANK", VARIABLE_BY_RENDEZVOUS, VARIABLE_NUMBER },
    { "LOCAL_WORLD_SIZE", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "GROUP_RANK", VARIABLE_BY_RENDEZVOUS, VARIABLE_NUMBER },
    { "TORCHELASTIC_RESTART_COUNT", VARIABLE_BY_RENDEZVOUS, VARIABLE_PREFERENCE },
    { "SLURM_PROCID", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_LOCALID", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_NODEID", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_NTASKS", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_NPROCS", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_STEP_NUM_TASKS", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_NNODES", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_STEP_NUM_NODES", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_NODELIST", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_STEP_NODELIST", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_TASKS_PER_NODE", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_STEP_TASKS_PER_NODE", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "SLURM_NTASKS_PER_NODE", VARIABLE_BY_RENDEZVOUS, VARIABLE_SLURM },
    { "NCCL_SOCKET_IFNAME", VARIABLE_BY_TASK, VARIABLE_PREFERENCE },
    { "GLOO_SOCKET_IFNAME", VARIABLE_BY_TASK, VARIABLE_PREFERENCE },
    { "TORCHELASTIC_ERROR_FILE", VARIABLE_BY_TASK, VARIABLE_PREFERENCE },
    { "PYTHONUNBUFFERED", VARIABLE_BY_TASK, VARIABLE_PREFERENCE },
    { "NOTIFY_SOCKET", VARIABLE_BY_TASK, VARIABLE_PREFERENCE },
    { "WATCHDOG_USEC", VARIABLE_BY_TASK, VARIABLE_PREFERENCE },
    { "PYTHONFAULTHANDLER", VARIABLE_BY_TASK, VARIABLE_PREFERENCE },
    { .name = NULL }
};

const struct variable *variable_find (const char *text)
{
    size_t length = strcspn (text, "=");

    for (const struct variable *v = variable_table; v->name; v++)
        if (strncmp (v->name, text, length) == 0 && !v->name[length])
            return v;
    return NULL;
}

bool variable_replaces (const struct variable *variable, int tasks)
{
    switch (variable->kind) {
        case VARIABLE_OWN:
        case VARIABLE_SLURM:
        case VARIABLE_CLUSTER: return true;
        case VARIABLE_NUMBER: return tasks > 1;
        case VARIABLE_PREFERENCE: return false;
    }
    return false;
}

bool variable_is_noticed (const struct variable *variable, int tasks)
{
    return variable->kind != VARIABLE_OWN && variable->kind != VARIABLE_SLURM
           && variable_replaces (variable, tasks);
}

const char *variable_get (char *const env[], const char *name)
{
    size_t length = strlen (name);

    for (; env && *env; env++)
        if (strncmp (*env, name, length) == 0 && (*env)[length] == '=')
            return *env + length + 1;
    return NULL;
}

int variable_number (char *const env[], const char *name)
{
    int number;

    return number_parse (&number, variable_get (env, name), 0, INT_MAX) == 0 ? number : -1;
}

/* SLURM_GTIDS has the rank of each of them: "2,3". */
int variable_node_tasks (char *const env[])
{
    const char *ranks = variable_get (env, "SLURM_GTIDS");
    int tasks = ranks && *ranks;

    for (; ranks && *ranks; ranks++)
        tasks += *ranks == ',';
    return tasks;
}

const char *variable_of_slurm (const char *name)
{
    char former[128];
    const char *value;

    snprintf (former, sizeof (former), VARIABLE_FORMER "%s", name);
    value = getenv (former);
    return value ? value : getenv (name);
}
