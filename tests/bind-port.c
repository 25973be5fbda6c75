/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * bind-port: try to use a port that a task may hold.
 *
 *     bind-port exclusive|reuse PORT
 *
 * Binds the port on every IPv4 address, for `reuse` with SO_REUSEADDR, and listens. Prints
 * "bound" and exits with 0, or prints the error and exits with 1.
 */
#include "config.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main (int argc, char *argv[])
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    int fd = socket (AF_INET, SOCK_STREAM, 0), on = 1;

    if (argc != 3 || (strcmp (argv[1], "exclusive") && strcmp (argv[1], "reuse"))) {
        fprintf (stderr, "usage: bind-port exclusive|reuse PORT\n");
        return 2;
    }
    any.sin_port = htons ((uint16_t)atoi (argv[2]));
    if (!strcmp (argv[1], "reuse"))
        setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof (on));
    if (bind (fd, (struct sockaddr *)&any, sizeof (any)) || listen (fd, 1)) {
        perror ("bind-port");
        return 1;
    }
    puts ("bound");
    return 0;
}
