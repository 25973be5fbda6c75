/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "watch_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/descriptors.h"

/* Since Linux 6.16. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

static int _random (uint64_t *bits)
{
    return getrandom (bits, sizeof (*bits), 0) == (ssize_t)sizeof (*bits) ? 0 : -1;
}

/* Another user can have any name, but cannot know this one before it is taken. */
static int _bind_name (int fd, struct watch_socket_name *name, const char *step, int rank)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    uint64_t bits;
    size_t length;

    if (_random (&bits) < 0)
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

/* A descriptor of the file that the socket gets in this directory, and whose name is gone. -1 and errno. */
static int _bind_file (int fd, const char *directory)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    uint64_t bits;
    int file, saved;

    if (_random (&bits) < 0)
        return -1;
    snprintf (address.sun_path, sizeof (address.sun_path), "%s/spank_tf.%016" PRIx64, directory, bits);
    if (bind (fd, (struct sockaddr *)&address, sizeof (address)) < 0)
        return -1;
    file = open (address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    saved = errno;
    unlink (address.sun_path);
    errno = saved;
    return file;
}

/*
 * A process that has inherited the descriptor can connect, in whatever container: that needs neither the name
 * nor the directory.
 */
static int _bind_unnamed (int fd, struct watch_socket_name *name)
{
    int file;

    /* The mode of the file that bind () makes. */
    if (fchmod (fd, S_IRUSR | S_IWUSR) < 0
        || ((file = _bind_file (fd, "/dev/shm")) < 0 && (file = _bind_file (fd, "/tmp")) < 0)
        || (file = descriptors_leave_open (file)) < 0)
        return -1;
    snprintf (name->text, sizeof (name->text), "/proc/self/fd/%d", file);
    return 0;
}

static int _bind_for_user (int fd, struct watch_socket_name *name, const char *step, int rank)
{
    const int yes = 1, no = 0;

    /* Before it can be found, so that no message comes without its sender, and none with descriptors. */
    if (setsockopt (fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof (yes)) < 0)
        return -1;
    if (setsockopt (fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof (no)) == 0)
        return _bind_name (fd, name, step, rank);
    return _bind_unnamed (fd, name);
}

int watch_socket_open (struct watch_socket_name *name, const char *step, int rank, struct errtext *err)
{
    int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && _bind_for_user (fd, name, step, rank) == 0)
        return fd;
    errtext_set (err, "%s", strerror (errno));
    if (fd >= 0)
        close (fd);
    return -1;
}
