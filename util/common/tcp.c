/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static int _close_with (int fd, int error)
{
    close (fd);
    errno = error;
    return -1;
}

int tcp_connect_begin (const struct address *to, int port, bool acknowledges)
{
    static const int off = 0;
    struct sockaddr_storage ss;
    socklen_t len = address_sockaddr (to, port, &ss);
    int fd = socket (ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0)
        tcp_keep_alive (fd, TCP_BROKEN_MS);
    if (fd >= 0 && !acknowledges)
        setsockopt (fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof (off));
    if (fd >= 0 && connect (fd, (struct sockaddr *)&ss, len) < 0 && errno != EINPROGRESS)
        return _close_with (fd, errno);
    return fd;
}

int tcp_connect_end (int fd)
{
    int error = 0;
    socklen_t len = sizeof (error);

    return getsockopt (fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}

int tcp_connect (const struct address *to, int port, struct deadline deadline)
{
    int fd = tcp_connect_begin (to, port, true), error = ETIMEDOUT;

    if (fd >= 0 && deadline_wait (fd, POLLOUT, deadline))
        error = tcp_connect_end (fd);
    return fd >= 0 && error ? _close_with (fd, error) : fd;
}

void tcp_ask (int fd, int idle, int interval, int count, unsigned int broken_ms)
{
    int on = 1;

    setsockopt (fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof (on));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof (idle));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof (interval));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof (count));
    /* While data is on its way, keepalive sends nothing, and the kernel would retry for 15 min. */
    setsockopt (fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &broken_ms, sizeof (broken_ms));
}

void tcp_keep_alive (int fd, unsigned int broken_ms)
{
    tcp_ask (fd, 30, 10, 3, broken_ms);
}

void tcp_abort (int fd)
{
    const struct linger none = { .l_onoff = 1, .l_linger = 0 };

    setsockopt (fd, SOL_SOCKET, SO_LINGER, &none, sizeof (none));
    close (fd);
}
