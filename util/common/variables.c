/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "variables.h"

#include <stddef.h>
#include <string.h>

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
    { "SLURM_TF_CONFIG_FILE", VARIABLE_BY_EXEC, VARIABLE_OWN },
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
    { "DTENSOR_JOBS", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "DTENSOR_CLIENT_ID", VARIABLE_BY_RENDEZVOUS, VARIABLE_NUMBER },
    { "MASTER_ADDR", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "MASTER_PORT", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "RANK", VARIABLE_BY_RENDEZVOUS, VARIABLE_NUMBER },
    { "WORLD_SIZE", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "LOCAL_RANK", VARIABLE_BY_RENDEZVOUS, VARIABLE_NUMBER },
    { "LOCAL_WORLD_SIZE", VARIABLE_BY_RENDEZVOUS, VARIABLE_CLUSTER },
    { "GROUP_RANK", VARIABLE_BY_RENDEZVOUS, VARIABLE_NUMBER },
    { "TORCHELASTIC_RESTART_COUNT", VARIABLE_BY_RENDEZVOUS, VARIABLE_PREFERENCE },
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
        if (strlen (v->name) == length && strncmp (v->name, text, length) == 0)
            return v;
    return NULL;
}

bool variable_replaces (const struct variable *variable, int tasks)
{
    switch (variable->kind) {
        case VARIABLE_OWN:
        case VARIABLE_CLUSTER: return true;
        case VARIABLE_NUMBER: return tasks > 1;
        case VARIABLE_PREFERENCE: return false;
    }
    return false;
}

bool variable_is_noticed (const struct variable *variable, int tasks)
{
    return variable->kind != VARIABLE_OWN && variable_replaces (variable, tasks);
}

const char *variable_get (char *const env[], const char *name)
{
    size_t length = strlen (name);

    for (; env && *env; env++)
        if (strncmp (*env, name, length) == 0 && (*env)[length] == '=')
            return *env + length + 1;
    return NULL;
}
