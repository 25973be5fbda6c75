/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sockets of TCP that tests need.
 */
#ifndef TF_SOCKETS_H
#define TF_SOCKETS_H

#include "unit.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/address.h"

/*
 * A socket that is bound to this address, with SO_REUSEADDR, and to *port, or any if that is 0; *port is its
 * own then. -1 if this machine lacks the address.
 */
static inline int bound_socket (const char *address, int *port)
{
    struct sockaddr_storage ss;
    struct address at;
    socklen_t length;
    int fd, on = 1;

    assert_int_equal (address_parse (&at, address), 0);
    length = address_sockaddr (&at, *port, &ss);
    if ((fd = socket (at.family, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0
        || setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof (on)) < 0
        || bind (fd, (struct sockaddr *)&ss, length) < 0)
        return -1;
    assert_int_equal (getsockname (fd, (struct sockaddr *)&ss, &length), 0);
    /* It stands at the same place for both families. */
    *port = ntohs (((struct sockaddr_in *)&ss)->sin_port);
    return fd;
}

static inline int listening_socket (const char *address, int *port, int backlog)
{
    int fd = bound_socket (address, port);

    return fd < 0 || listen (fd, backlog) < 0 ? -1 : fd;
}

/* Connect to this port of 127.0.0.1. Returns what connect () does. */
static inline int connect_to (int fd, int port)
{
    const struct sockaddr_in in = { .sin_family = AF_INET,
                                    .sin_port = htons ((uint16_t)port),
                                    .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };

    return connect (fd, (const struct sockaddr *)&in, sizeof (in));
}

static inline int connected_to (int port)
{
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal (connect_to (fd, port), 0);
    return fd;
}

/* A port of 127.0.0.1 at which the kernel drops connections, because those that wait are not accepted. */
static inline int full_listener (int *port)
{
    int fd = listening_socket ("127.0.0.1", port, 0);

    for (int i = 0; i < 4; i++) {
        int client = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        connect_to (client, *port);
        close (client);
    }
    return fd;
}

#endif
