/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "watch_socket.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Another user can have any name, but cannot know this one before it is taken. */
static int _bind_name (int fd, struct watch_socket_name *name, const char *step, int rank)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    uint64_t bits;
    size_t length;

    if (getrandom (&bits, sizeof (bits), 0) != (ssize_t)sizeof (bits))
        return -1;
    length =
        (size_t)snprintf (name->text, sizeof (name->text), "@spank_tf/%s/%d/%016" PRIx64, step, rank, bits);
    if (length >= sizeof (name->text))
        return -1;
    memcpy (address.sun_path, name->text, length);
    address.sun_path[0] = '\0';
    length += offsetof (struct sockaddr_un, sun_path);
    return bind (fd, (struct sockaddr *)&address, (socklen_t)length);
}

int watch_socket_open (struct watch_socket_name *name, const char *step, int rank)
{
    int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;

    if (fd < 0)
        return -1;
    /* Before it has a name, so that no message comes without its sender. */
    if (setsockopt (fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof (yes)) == 0
        && _bind_name (fd, name, step, rank) == 0)
        return fd;
    close (fd);
    return -1;
}
