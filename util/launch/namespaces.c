/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "namespaces.h"

#include <stdio.h>
#include <sys/stat.h>

struct namespace namespace_own (const char *kind)
{
    char path[64];
    struct stat st;

    snprintf (path, sizeof (path), "/proc/self/ns/%s", kind);
    return stat (path, &st) == 0 ? (struct namespace){ st.st_dev, st.st_ino } : (struct namespace){ 0 };
}

bool namespace_has_changed (const struct namespace *former, const char *kind)
{
    struct namespace own = namespace_own (kind);

    return former->inode && own.inode && (own.inode != former->inode || own.device != former->device);
}
