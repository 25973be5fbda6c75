/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * take-port: another user who wants a port of a step.
 *
 *     take-port UID
 *
 * Waits for a port on which this user listens, and tries without a pause to bind it and to listen on it,
 * with every combination of socket options, on every and on one address, IPv6 and IPv4. Prints its number
 * when it got it, and holds it for a moment; then the next. Ends when it is killed.
 */
#include "config.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The first one: srun has not opened any other when it has chosen that of the rendezvous. 0: none. */
static int _find (const char *path, unsigned int uid)
{
    FILE *file = fopen (path, "re");
    char line[512];
    int port = 0;

    while (file && !port && fgets (line, sizeof (line), file)) {
        unsigned int number, state, owner;

        if (sscanf (line, "%*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %u", &number, &state,
                    &owner)
                == 3
            && state == 0x0A && owner == uid)
            port = (int)number;
    }
    if (file)
        fclose (file);
    return port;
}

struct way {
    int fd;
    struct sockaddr_storage at;
    socklen_t length;
};

static void _set_address (struct way *way, int port, bool ipv6, bool loopback)
{
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&way->at;
    struct sockaddr_in *in = (struct sockaddr_in *)&way->at;

    way->at = (struct sockaddr_storage){ .ss_family = ipv6 ? AF_INET6 : AF_INET };
    way->length = ipv6 ? sizeof (*in6) : sizeof (*in);
    if (ipv6) {
        in6->sin6_port = htons ((uint16_t)port);
        in6->sin6_addr = loopback ? in6addr_loopback : in6addr_any;
    } else {
        in->sin_port = htons ((uint16_t)port);
        in->sin_addr.s_addr = htonl (loopback ? INADDR_LOOPBACK : INADDR_ANY);
    }
}

/* A bind () that fails leaves the socket as it is, so the next try needs this one system call only. */
static void _prepare (struct way *way, int port, int number)
{
    int on = 1;

    _set_address (way, port, number & 4, number & 8);
    way->fd = socket (way->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number & 1)
        setsockopt (way->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof (on));
    if (number & 2)
        setsockopt (way->fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof (on));
}

/* Until it has got it, which it has at the latest when the step has ended. */
static void _take (int port)
{
    struct way way[16];
    int i = 0;

    for (int number = 0; number < 16; number++)
        _prepare (&way[number], port, number);
    while (bind (way[i].fd, (struct sockaddr *)&way[i].at, way[i].length) < 0 || listen (way[i].fd, 16) < 0)
        i = (i + 1) % 16;
    printf ("%d\n", port);
    fflush (stdout);
    usleep (20000);
    for (int number = 0; number < 16; number++)
        close (way[number].fd);
}

int main (int argc, char *argv[])
{
    unsigned int uid;

    if (argc != 2 || sscanf (argv[1], "%u", &uid) != 1) {
        fprintf (stderr, "usage: take-port UID\n");
        return 2;
    }
    for (;;) {
        int port = _find ("/proc/net/tcp6", uid);

        if (port > 0 || (port = _find ("/proc/net/tcp", uid)) > 0)
            _take (port);
        else
            usleep (500);
    }
}
