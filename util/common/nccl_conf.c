/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "nccl_conf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK: a FIFO must not hold up the task. */
static FILE *_open_conf (const char *path)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    FILE *f = NULL;

    if (fd >= 0 && fstat (fd, &st) == 0 && S_ISREG (st.st_mode))
        f = fdopen (fd, "r");
    if (fd >= 0 && !f)
        close (fd);
    return f;
}

/* A line may be longer than the buffer; only its beginning counts. */
bool nccl_conf_sets (const char *path, const char *name)
{
    FILE *f = _open_conf (path);
    size_t length = strlen (name);
    bool begins = true, sets = false;
    char part[256];

    if (!f)
        return false;
    while (!sets && fgets (part, sizeof (part), f)) {
        sets = begins && strncmp (part, name, length) == 0 && part[length] == '=';
        begins = strchr (part, '\n') != NULL;
    }
    fclose (f);
    return sets;
}
