/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "devices.h"

#include <stdio.h>

static int _count_devices (const char *list)
{
    int count = list && *list;

    for (; list && *list; list++)
        count += *list == ',';
    return count;
}

int devices_own (const char *visible, int on_node, int tasks_of_node)
{
    int devices = _count_devices (visible);

    return on_node < 1 || (tasks_of_node > 1 && devices >= on_node) ? 0 : devices;
}

const char *devices_of_task (const char *visible, int on_node, int tasks_of_node, int local, char *buf,
                             size_t size)
{
    int devices = devices_own (visible, on_node, tasks_of_node), shared = _count_devices (visible);
    size_t used = 0;

    if (devices == 0 && on_node >= 1 && shared > 0 && tasks_of_node > shared)
        return snprintf (buf, size, "%d", local % shared) < (int)size ? buf : NULL;
    if (devices == 0)
        return NULL;
    for (int i = 0; i < devices; i++) {
        used += (size_t)snprintf (buf + used, size - used, "%s%d", i ? "," : "", i);
        if (used >= size)
            return NULL;
    }
    return buf;
}
