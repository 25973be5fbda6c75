/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

void connection_keep_alive (int fd)
{
    int on = 1, idle = 30, interval = 10, count = 3;

    setsockopt (fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof (on));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof (idle));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof (interval));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof (count));
}

static void _acknowledge (int fd, int soon)
{
    setsockopt (fd, IPPROTO_TCP, TCP_QUICKACK, &soon, sizeof (soon));
}

void connection_acknowledge_late (int fd)
{
    _acknowledge (fd, 0);
}

void connection_acknowledge_soon (int fd)
{
    _acknowledge (fd, 1);
}

void connection_close (int fd)
{
    const struct linger none = { .l_onoff = 1, .l_linger = 0 };

    setsockopt (fd, SOL_SOCKET, SO_LINGER, &none, sizeof (none));
    close (fd);
}
