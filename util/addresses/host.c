/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void host_self (struct host *host)
{
    int fd = open ("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    char boot[40];
    ssize_t n = fd >= 0 ? read (fd, boot, sizeof (boot) - 1) : -1;
    struct stat namespace = { 0 };

    if (fd >= 0)
        close (fd);
    boot[n > 0 ? n : 0] = '\0';
    boot[strcspn (boot, " \n")] = '\0';
    if (!boot[0])
        snprintf (boot, sizeof (boot), "unknown-%ld", (long)getpid ());
    stat ("/proc/self/ns/net", &namespace);
    snprintf (host->id, sizeof (host->id), "%s/%lu", boot, (unsigned long)namespace.st_ino);
}
