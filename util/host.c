/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Linux 5.14's, of older headers. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/*
 * What the kernel calls our network namespace, once per boot; older ones have its inode alone,
 * which takes four times as long: /proc makes three files of this process for it.
 */
static void _print_namespace (char *to, size_t size)
{
    int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct stat ns = { 0 };
    uint64_t cookie;
    socklen_t len = sizeof (cookie);

    if (getsockopt (fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0) {
        snprintf (to, size, "%llx", (unsigned long long)cookie);
    } else {
        stat ("/proc/self/ns/net", &ns);
        snprintf (to, size, "i%lu", (unsigned long)ns.st_ino);
    }
    if (fd >= 0)
        close (fd);
}

void host_self (struct host *host)
{
    int fd = open ("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    char boot[40], namespace[24];
    ssize_t n = read (fd, boot, sizeof (boot) - 1);

    boot[n > 0 ? n : 0] = '\0';
    boot[strcspn (boot, " \n")] = '\0';
    if (!boot[0])
        snprintf (boot, sizeof (boot), "unknown-%ld", (long)getpid ());
    if (fd >= 0)
        close (fd);
    _print_namespace (namespace, sizeof (namespace));
    snprintf (host->id, sizeof (host->id), "%s/%s", boot, namespace);
}
