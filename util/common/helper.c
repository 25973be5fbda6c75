/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "helper.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *helper_own_file (void)
{
    static char path[PATH_MAX];
    ssize_t length = readlink ("/proc/self/exe", path, sizeof (path) - 1);

    if (length <= 0 || path[0] != '/')
        return NULL;
    path[length] = '\0';
    return path;
}

const char *helper_started_file (void)
{
    static char path[2 * PATH_MAX];
    const char *name = program_invocation_name, *own = helper_own_file ();
    char directory[PATH_MAX] = "";
    struct stat this, started;

    if (!strchr (name, '/'))
        helper_find (directory, sizeof (directory), getenv ("PATH"), name);
    else if (name[0] != '/' && !getcwd (directory, sizeof (directory)))
        return own;
    snprintf (path, sizeof (path), "%s%s%s", directory, name[0] == '/' ? "" : "/", name);
    return own && path[0] == '/' && stat (own, &this) == 0 && stat (path, &started) == 0
                   && this.st_dev == started.st_dev && this.st_ino == started.st_ino
               ? path
               : own;
}

const char *helper_own_directory (void)
{
    static char directory[PATH_MAX];
    const char *file = helper_own_file ();

    if (!file)
        return NULL;
    snprintf (directory, sizeof (directory), "%.*s", (int)(strrchr (file, '/') - file), file);
    return directory;
}

int helper_path (char *path, size_t size, const char *directory, const char *name)
{
    const char *own = STATIC_PROGRAMS ? helper_own_file () : NULL;
    int length = own ? snprintf (path, size, "%s", own) : snprintf (path, size, "%s/%s", directory, name);

    return length < (int)size ? 0 : -1;
}

int helper_locate (char *path, size_t size, const char *libexecdir, const char *name, struct errtext *err)
{
    if (helper_path (path, size, libexecdir, name) < 0)
        return errtext_set (err, "libexecdir= is too long");
    return access (path, X_OK) == 0 ? 0 : errtext_set (err, "%s: %s", path, strerror (errno));
}

void helper_find (char *directory, size_t size, const char *path, const char *program)
{
    char file[PATH_MAX + NAME_MAX];

    for (path = path ? path : ""; *path; path += *path == ':') {
        int length = (int)strcspn (path, ":");

        snprintf (directory, size, "%.*s", length, path);
        snprintf (file, sizeof (file), "%s/%s", directory, program);
        if (access (file, X_OK) == 0)
            return;
        path += length;
    }
    directory[0] = '\0';
}
