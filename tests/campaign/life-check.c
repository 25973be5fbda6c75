/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * life-check: what a life of a task that may be restarted finds when it begins.
 *
 *     life-check DIR LIFE PORT    with descriptor 9 open for writing on DIR/alive.LIFE
 *     life-check serve PORT       with descriptor 9 inherited
 *
 * Every life has a file of its own in DIR, and a lock on it. All its descendants inherit the
 * descriptor, so the lock goes when the last one of them is dead. life-check takes this lock,
 * prints the other lives whose files are locked, and "port: ERROR" if the program could not listen
 * on its port, or something listens there already.
 *
 * `serve` listens on the port in the background, until it is killed.
 */
#include "config.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOCK 9
#define PREFIX "alive."

static bool _is_locked (int dir, const char *name)
{
    int fd = openat (dir, name, O_RDONLY | O_CLOEXEC);
    bool locked = fd >= 0 && flock (fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

    if (fd >= 0)
        close (fd);
    return locked;
}

static void _print_others (const char *path, const char *own)
{
    DIR *dir = opendir (path);
    const struct dirent *entry;

    while (dir && (entry = readdir (dir)))
        if (strncmp (entry->d_name, PREFIX, strlen (PREFIX)) == 0
            && strcmp (entry->d_name + strlen (PREFIX), own) != 0 && _is_locked (dirfd (dir), entry->d_name))
            printf ("%s ", entry->d_name + strlen (PREFIX));
    if (dir)
        closedir (dir);
}

static struct sockaddr_in _address (uint32_t host, const char *port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons ((uint16_t)atoi (port)),
                                 .sin_addr.s_addr = htonl (host) };
}

/* The socket, or -1. */
static int _listen (const char *port)
{
    struct sockaddr_in any = _address (INADDR_ANY, port);
    int fd = socket (AF_INET, SOCK_STREAM, 0), on = 1;

    setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof (on));
    return bind (fd, (struct sockaddr *)&any, sizeof (any)) == 0 && listen (fd, 1) == 0 ? fd : -1;
}

static bool _answers (const char *port)
{
    struct sockaddr_in own = _address (INADDR_LOOPBACK, port);
    int fd = socket (AF_INET, SOCK_STREAM, 0);
    bool answers = connect (fd, (struct sockaddr *)&own, sizeof (own)) == 0;

    close (fd);
    return answers;
}

static void _print_port (const char *port)
{
    if (_answers (port))
        printf ("port: something listens");
    else if (_listen (port) < 0)
        printf ("port: %s", strerror (errno));
}

static int _serve (const char *port)
{
    if (_listen (port) < 0) {
        perror ("life-check");
        return 1;
    }
    if (fork () == 0)
        for (;;)
            pause ();
    return 0;
}

int main (int argc, char *argv[])
{
    if (argc == 3 && strcmp (argv[1], "serve") == 0)
        return _serve (argv[2]);
    if (argc != 4 || flock (LOCK, LOCK_EX) < 0) {
        fprintf (stderr, "usage: life-check DIR LIFE PORT, with descriptor 9 open\n");
        return 2;
    }
    _print_others (argv[1], argv[2]);
    _print_port (argv[3]);
    printf ("\n");
    return 0;
}
