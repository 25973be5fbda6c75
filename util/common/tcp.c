/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

void tcp_keep_alive (int fd)
{
    int on = 1, idle = 30, interval = 10, count = 3;
    unsigned int unacknowledged_ms = 60000;

    setsockopt (fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof (on));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof (idle));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof (interval));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof (count));
    /* While data is on its way, keepalive sends nothing, and the kernel would retry for 15 min. */
    setsockopt (fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof (unacknowledged_ms));
}

void tcp_abort (int fd)
{
    const struct linger none = { .l_onoff = 1, .l_linger = 0 };

    setsockopt (fd, SOL_SOCKET, SO_LINGER, &none, sizeof (none));
    close (fd);
}
