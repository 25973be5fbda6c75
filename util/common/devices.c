/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "devices.h"

#include <stdio.h>

#include "variables.h"

struct devices devices_given (char *const env[])
{
    const char *cuda = variable_get (env, "CUDA_VISIBLE_DEVICES");

    return (struct devices){ .visible = cuda ? cuda : variable_get (env, "ROCR_VISIBLE_DEVICES"),
                             .on_node = variable_number (env, "SLURM_GPUS_ON_NODE"),
                             .tasks = variable_node_tasks (env) };
}

static int _count_devices (const char *list)
{
    int count = list && *list;

    for (; list && *list; list++)
        count += *list == ',';
    return count;
}

int devices_own (const struct devices *given)
{
    int visible = _count_devices (given->visible);

    return given->on_node < 1 || (given->tasks > 1 && visible >= given->on_node) ? 0 : visible;
}

const char *devices_of_task (const struct devices *given, int local, char *buf, size_t size)
{
    int own = devices_own (given), shared = _count_devices (given->visible);
    size_t used = 0;

    if (own == 0 && given->on_node >= 1 && shared > 0 && given->tasks > shared)
        return snprintf (buf, size, "%d", local % shared) < (int)size ? buf : NULL;
    if (own == 0)
        return NULL;
    for (int i = 0; i < own; i++) {
        used += (size_t)snprintf (buf + used, size - used, "%s%d", i ? "," : "", i);
        if (used >= size)
            return NULL;
    }
    return buf;
}
