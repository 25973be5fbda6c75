/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spank_tf_late.so: the second stage of spank_tf. Its line in plugstack.conf stands behind those of plugins
 * that change a task in task_init, such as pyxis, which enters a container there. spank_tf.so has registered
 * the task before; here, as the last of all plugins, the task goes on as its first life, and as each one that
 * follows. This plugin has a callback in tasks' processes, which run as the user, and in no other context.
 */
#include "config.h"

#include <slurm/spank.h>

#include "common/version.h"
#include "late.h"

SPANK_PLUGIN (spank_tf_late, 1)

static const char version[] VERSION_NOTE = VERSION_NAME PACKAGE_VERSION;

int slurm_spank_task_init (spank_t spank, int argc, char *argv[])
{
    void *first = late_neighbour (version, "spank_tf.so");
    late_stage *enter = NULL;

    (void)argc, (void)argv;
    if (first)
        *(void **)&enter = dlsym (first, LATE_STAGE);
    return enter ? enter (spank) : 0;
}
