/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL if the process has ended. */
static FILE *_open_proc (pid_t pid, const char *name)
{
    char path[64];

    snprintf (path, sizeof (path), "/proc/%d/%s", (int)pid, name);
    return fopen (path, "re");
}

uint64_t proc_signals (pid_t pid, const char *set)
{
    FILE *f = _open_proc (pid, "status");
    size_t length = strlen (set);
    uint64_t signals = 0;
    char text[256];

    while (f && fgets (text, sizeof (text), f))
        if (strncmp (text, set, length) == 0 && text[length] == ':')
            signals = strtoull (text + length + 1, NULL, 16);
    if (f)
        fclose (f);
    return signals;
}

bool proc_has_name (pid_t pid, const char *name)
{
    FILE *f = _open_proc (pid, "comm");
    char text[64] = "";
    bool read = f && fgets (text, sizeof (text), f);

    if (f)
        fclose (f);
    return read && strncmp (text, name, strlen (name)) == 0 && text[strlen (name)] == '\n';
}
