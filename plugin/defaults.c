/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "defaults.h"

#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "additions.h"
#include "common/devices.h"
#include "common/nccl_conf.h"
#include "common/number.h"

/* The user's own file: NCCL_CONF_FILE, otherwise ~/.nccl.conf. False if there is none. */
static bool _users_file (spank_t spank, char path[PATH_MAX])
{
    char home[PATH_MAX - 16];

    if (spank_getenv (spank, "NCCL_CONF_FILE", path, PATH_MAX) == ESPANK_SUCCESS && *path)
        return true;
    if (spank_getenv (spank, "HOME", home, sizeof (home)) != ESPANK_SUCCESS)
        return false;
    snprintf (path, PATH_MAX, "%s/.nccl.conf", home);
    return true;
}

/* NCCL takes from its files only what the environment lacks. */
static bool _is_in_file (spank_t spank, const char *name)
{
    char path[PATH_MAX];

    return nccl_conf_sets (NCCL_CONF_OF_SITE, name)
           || (_users_file (spank, path) && nccl_conf_sets (path, name));
}

/*
 * NCCL takes the name for the beginning of one, unless "=" is before it. Some libraries that read the
 * variable in NCCL's place do not know the "=", so it is set only if it makes a difference. True if it does.
 */
static bool _begins_another (const char *interface)
{
    struct if_nameindex *all = if_nameindex ();
    size_t length = strlen (interface);
    bool found = !all;

    for (struct if_nameindex *i = all; i && i->if_name; i++)
        found = found || (strncmp (i->if_name, interface, length) == 0 && i->if_name[length]);
    if_freenameindex (all);
    return found;
}

int defaults_set_interface (spank_t spank, const char *interface, bool nccl)
{
    char exactly[IF_NAMESIZE + 1];

    snprintf (exactly, sizeof (exactly), "%s%s", _begins_another (interface) ? "=" : "", interface);
    if (nccl && !_is_in_file (spank, "NCCL_SOCKET_IFNAME")
        && additions_set (spank, "NCCL_SOCKET_IFNAME", exactly) < 0)
        return -1;
    return _is_in_file (spank, "GLOO_SOCKET_IFNAME") ? 0
                                                     : additions_set (spank, "GLOO_SOCKET_IFNAME", interface);
}

/* The value, or NULL if the variable is not set or longer than the buffer. */
static const char *_get (spank_t spank, const char *name, char *buf, int size)
{
    return spank_getenv (spank, name, buf, size) == ESPANK_SUCCESS ? buf : NULL;
}

struct gpus {
    char room[1024];
    const char *visible;        /* to the task, or NULL */
    int on_node;                /* of the step, or -1 */
    uint32_t tasks;             /* of the node */
};

static void _get_gpus (spank_t spank, struct gpus *gpus)
{
    char number[16];

    gpus->visible = _get (spank, "CUDA_VISIBLE_DEVICES", gpus->room, sizeof (gpus->room));
    if (!gpus->visible)
        gpus->visible = _get (spank, "ROCR_VISIBLE_DEVICES", gpus->room, sizeof (gpus->room));
    if (number_parse (&gpus->on_node, _get (spank, "SLURM_GPUS_ON_NODE", number, sizeof (number)), 0, INT_MAX)
        < 0)
        gpus->on_node = -1;
    gpus->tasks = 0;
    spank_get_item (spank, S_JOB_LOCAL_TASK_COUNT, &gpus->tasks);
}

int defaults_gpus (spank_t spank)
{
    struct gpus gpus;

    _get_gpus (spank, &gpus);
    return devices_own (gpus.visible, gpus.on_node, (int)gpus.tasks);
}

int defaults_set_devices (spank_t spank, int local)
{
    struct gpus gpus;
    char buf[1024];
    const char *ids;

    _get_gpus (spank, &gpus);
    ids = devices_of_task (gpus.visible, gpus.on_node, (int)gpus.tasks, local, buf, sizeof (buf));
    return ids ? additions_set (spank, "JAX_LOCAL_DEVICE_IDS", ids) : 0;
}
