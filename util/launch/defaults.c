/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "defaults.h"

#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "additions.h"
#include "common/devices.h"
#include "common/variables.h"
#include "launcher.h"

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

int defaults_set_interface (const char *interface, bool nccl)
{
    char exactly[IF_NAMESIZE + 1];

    if (nccl) {
        snprintf (exactly, sizeof (exactly), "%s%s", _begins_another (interface) ? "=" : "", interface);
        if (additions_set ("NCCL_SOCKET_IFNAME", exactly) < 0)
            return -1;
    }
    return additions_set ("GLOO_SOCKET_IFNAME", interface);
}

struct gpus {
    const char *visible;        /* to the task, or NULL */
    int on_node;                /* of the step, or -1 */
    int tasks;                  /* of the node */
};

static struct gpus _gpus (void)
{
    char *const *env = launcher_environment ();
    struct gpus gpus = { .visible = variable_get (env, "CUDA_VISIBLE_DEVICES") };

    if (!gpus.visible)
        gpus.visible = variable_get (env, "ROCR_VISIBLE_DEVICES");
    gpus.on_node = variable_number (env, "SLURM_GPUS_ON_NODE");
    gpus.tasks = variable_node_tasks (env);
    return gpus;
}

int defaults_gpus (void)
{
    struct gpus gpus = _gpus ();

    return devices_own (gpus.visible, gpus.on_node, gpus.tasks);
}

int defaults_set_devices (int local)
{
    struct gpus gpus = _gpus ();
    char buf[1024];
    const char *ids = devices_of_task (gpus.visible, gpus.on_node, gpus.tasks, local, buf, sizeof (buf));

    return ids ? additions_set ("JAX_LOCAL_DEVICE_IDS", ids) : 0;
}
