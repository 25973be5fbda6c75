/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void host_self (struct host *host)
{
    int fd = open ("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    struct stat ns = { 0 };
    char boot[40];
    ssize_t n = read (fd, boot, sizeof (boot) - 1);

    boot[n > 0 ? n : 0] = '\0';
    boot[strcspn (boot, " \n")] = '\0';
    if (!boot[0])
        snprintf (boot, sizeof (boot), "unknown-%ld", (long)getpid ());
    if (fd >= 0)
        close (fd);
    stat ("/proc/self/ns/net", &ns);
    snprintf (host->id, sizeof (host->id), "%s/%lu", boot, (unsigned long)ns.st_ino);
}
