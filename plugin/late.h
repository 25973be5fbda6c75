/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the two stages find each other in a task's process: each looks for the other's file beside its
 * own, among the files that Slurm has loaded. Slurm loads plugins with RTLD_LOCAL, so that a symbol
 * alone is not found.
 */
#ifndef TF_LATE_H
#define TF_LATE_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <slurm/spank.h>

/* The file of this name beside the one with this symbol, if Slurm has loaded it: for dlclose (). Or NULL. */
static inline void *late_neighbour (const void *symbol, const char *name)
{
    char path[PATH_MAX];
    Dl_info own;
    const char *slash;

    if (dladdr (symbol, &own) == 0 || !(slash = strrchr (own.dli_fname, '/'))
        || snprintf (path, sizeof (path), "%.*s/%s", (int)(slash - own.dli_fname), own.dli_fname, name)
               >= (int)sizeof (path))
        return NULL;
    return dlopen (path, RTLD_NOW | RTLD_NOLOAD);
}

/* What spank_tf.so exports for the second stage; returns what task_init returns. */
#define LATE_STAGE "spank_tf_late_stage"
typedef int late_stage (spank_t spank);
int spank_tf_late_stage (spank_t spank);

#endif
