/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void host_self (struct host *host)
{
    FILE *f = fopen ("/proc/sys/kernel/random/boot_id", "re");
    struct stat ns = { 0 };
    char boot[40];

    if (!f || fscanf (f, "%39s", boot) != 1)
        snprintf (boot, sizeof (boot), "unknown-%ld", (long)getpid ());
    if (f)
        fclose (f);
    stat ("/proc/self/ns/net", &ns);
    snprintf (host->id, sizeof (host->id), "%s/%lu", boot, (unsigned long)ns.st_ino);
}
