/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Preloaded into slurmd and slurmstepd on a machine that has cgroup v1 and v2: it hides v1 in
 * /proc/PID/cgroup. Slurm refuses to use cgroup v2 where it finds v1.
 */
#define _GNU_SOURCE
/* With it, open () is an inline function. */
#undef _FORTIFY_SOURCE

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int _is_cgroup_of_process (const char *path)
{
    const char *name = strrchr (path, '/');

    return strncmp (path, "/proc/", 6) == 0 && strcmp (name, "/cgroup") == 0;
}

/* Close a file, and return one that has its line about cgroup v2, which has the number 0. */
static int _unified (int fd)
{
    int copy = memfd_create ("cgroup", MFD_CLOEXEC);
    FILE *from = fdopen (fd, "r");
    char line[8192];

    while (copy >= 0 && from && fgets (line, sizeof (line), from))
        if (strncmp (line, "0::", 3) == 0)
            dprintf (copy, "%s", line);
    if (from)
        fclose (from);
    lseek (copy, 0, SEEK_SET);
    return copy;
}

static int _open (const char *path, int flags, va_list list)
{
    mode_t mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg (list, mode_t) : 0;
    int fd = openat (AT_FDCWD, path, flags, mode);

    return fd >= 0 && _is_cgroup_of_process (path) ? _unified (fd) : fd;
}

#define OPEN(name) \
    int name (const char *path, int flags, ...) \
    { \
        va_list list; \
        int fd; \
\
        va_start (list, flags); \
        fd = _open (path, flags, list); \
        va_end (list); \
        return fd; \
    }

OPEN (open)
OPEN (open64)
