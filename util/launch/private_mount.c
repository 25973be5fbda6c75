/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "private_mount.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of the mount; -1 if it is not known. */
static int _mount_of (int dir)
{
    char path[64], *line = NULL;
    size_t size = 0;
    int number = -1;
    FILE *f;

    snprintf (path, sizeof (path), "/proc/self/fdinfo/%d", dir);
    f = fopen (path, "re");
    while (f && getline (&line, &size, f) > 0)
        if (strncmp (line, "mnt_id:", sizeof ("mnt_id:") - 1) == 0)
            /* NOLINTNEXTLINE(cert-err34-c): it is the kernel's number. */
            number = atoi (line + sizeof ("mnt_id:") - 1);
    free (line);
    if (f)
        fclose (f);
    return number;
}

bool private_mount_is_named (const char *root, const char *job)
{
    size_t length = strlen (job);

    if (strstr (root, "/systemd-private-"))
        return true;
    for (const char *p = root; length > 0 && (p = strstr (p, job)); p++)
        if (p > root && !isalnum ((unsigned char)p[-1]) && !isalnum ((unsigned char)p[length]))
            return true;
    return false;
}

/* A line of mountinfo is "36 35 98:0 /ROOT /MOUNT/POINT ...", see proc_pid_mountinfo (5). */
bool private_mount_has (int dir, const char *job)
{
    FILE *f = fopen ("/proc/self/mountinfo", "re");
    char *line = NULL, *rest, *root;
    int number = _mount_of (dir);
    bool found = false;
    size_t size = 0;

    while (f && number >= 0 && getline (&line, &size, f) > 0) {
        rest = line;
        /* NOLINTNEXTLINE(cert-err34-c): it is the kernel's number. */
        if (atoi (strsep (&rest, " ")) != number)
            continue;
        strsep (&rest, " ");
        strsep (&rest, " ");
        root = strsep (&rest, " ");
        found = root && private_mount_is_named (root, job);
        break;
    }
    free (line);
    if (f)
        fclose (f);
    return found;
}
