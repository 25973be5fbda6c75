/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * grab: try to take a port as somebody else's server would.
 *
 *     grab exclusive|shared PORT
 *
 * It binds the port for IPv4 on every address, shared with SO_REUSEPORT, and listens. Prints
 * "taken" and ends with 0, or says why not and ends with 1.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main (int argc, char *argv[])
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    int fd = socket (AF_INET, SOCK_STREAM, 0), on = 1;

    if (argc != 3 || (strcmp (argv[1], "exclusive") && strcmp (argv[1], "shared"))) {
        fprintf (stderr, "usage: grab exclusive|shared PORT\n");
        return 2;
    }
    any.sin_port = htons ((uint16_t)atoi (argv[2]));
    if (!strcmp (argv[1], "shared"))
        setsockopt (fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof (on));
    if (bind (fd, (struct sockaddr *)&any, sizeof (any)) || listen (fd, 1)) {
        perror ("grab");
        return 1;
    }
    puts ("taken");
    return 0;
}
