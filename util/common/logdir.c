/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "logdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The tasks that share the directory create it at the same time, so it may exist by now. */
static int _mkdir (const char *path)
{
    return mkdir (path, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

int logdir_make (const struct logdir *dir, struct errtext *err)
{
    char path[PATH_MAX];
    struct stat st;

    if (snprintf (path, sizeof (path), "%s", dir->path) >= (int)sizeof (path))
        return errtext_set (err, "%s", strerror (ENAMETOOLONG));
    /*
     * Ignore errors here: mkdir () of an existing parent may fail with EACCES, and if a parent is
     * missing, mkdir () of the directory itself fails below.
     */
    for (char *slash = strchr (path + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
        *slash = '\0';
        (void)!_mkdir (path);
        *slash = '/';
    }
    if (_mkdir (path) < 0 || stat (path, &st) < 0)
        return errtext_set (err, "%s: %s", path, strerror (errno));
    if (!S_ISDIR (st.st_mode))
        return errtext_set (err, "%s: %s", path, strerror (ENOTDIR));
    if (access (path, W_OK | X_OK) < 0)
        return errtext_set (err, "%s: %s", path, strerror (errno));
    return 0;
}

int logdir_open (const struct logdir *dir, bool append, const char *name, struct errtext *err)
{
    char path[PATH_MAX + NAME_MAX + 2];
    int fd;

    snprintf (path, sizeof (path), "%s/%s", dir->path, name);
    /* O_NONBLOCK: if the file is a FIFO without a reader, fail instead of waiting for one. */
    fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC | O_NONBLOCK
                         | (append ? 0 : O_TRUNC), 0666);
    if (fd >= 0)
        fcntl (fd, F_SETFL, O_APPEND);
    return fd < 0 ? errtext_set (err, "%s: %s", path, strerror (errno)) : fd;
}
