/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A TCP port that this process holds: bound on every address of the node, but not listening, so
 * the kernel refuses connections to it. A server of the same user can share it by SO_REUSEPORT.
 * Another user cannot bind it, and nor can a program that does not set SO_REUSEPORT.
 */
#ifndef TF_PORT_H
#define TF_PORT_H

#include <stdbool.h>
#include <stddef.h>

#include "errtext.h"

struct port_range {
    int low, high;      /* inclusive, 1024..65535 */
};

#define PORT_MAX_RANGES 64

struct port_ranges {
    size_t count;       /* 0: any port */
    struct port_range range[PORT_MAX_RANGES];
};

#define PORT_RANGES_ANY "any"

/* Parse "any", or a comma-separated list of LOW-HIGH and PORT. -1 and err. */
int port_ranges_parse (struct port_ranges *ranges, const char *text, struct errtext *err);

/* The n-th port of the ranges, from 0; -1 if they have fewer. */
int port_ranges_nth (const struct port_ranges *ranges, size_t n);

enum port_hold {
    PORT_HELD,          /* the port stays bound across exec */
    /*
     * exec closes the port. A claim on its number stays: no other claimed port is given that
     * number, and a held one only if no other number is left. Any local user can claim numbers, and so
     * keep others from reserving claimed ports, but not held ones.
     */
    PORT_CLAIMED,
};

struct port;

/*
 * Reserve a port, as the user whose server will use it: a socket of another user locks the server
 * out (SO_REUSEPORT in socket(7)). The search begins at the start-th port of the ranges, so that
 * tasks with different `start` do not try the same ports. If any port will do, the kernel chooses
 * it; for PORT_CLAIMED it is outside the kernel's ephemeral range, because the kernel may give
 * any port of that range to another program.
 * 0 and *pp, to be released with port_release () or port_leave (); -1 and err if no port is free
 * or the node has neither IPv6 nor IPv4.
 */
int port_reserve (struct port **pp, const struct port_ranges *ranges, unsigned int start, enum port_hold hold,
                  struct errtext *err);

/* The number, in host byte order. */
int port_number (const struct port *port);

/*
 * Leave the port, or the claim, to the program that this process will exec (descriptors_leave_open ()).
 * Frees `port`. Returns the bound socket if the port is held, otherwise -1.
 */
int port_leave (struct port *port);

/*
 * Let every server that sets SO_REUSEADDR, as nearly all do, bind the held port, and not only one that sets
 * SO_REUSEPORT. The kernel still gives the number to no other program by itself. A process of any user that
 * asks for it in this way could bind it too, until the server listens. The socket is port_descriptor ()
 * or, after that, what port_leave () has returned.
 */
int port_open (int socket);

/* The bound socket, which is close-on-exec; the port keeps it. */
int port_descriptor (const struct port *port);

/* True if port_leave () will leave the port. */
bool port_is_held (const struct port *port);

/*
 * Bind this number, so that no other program can, not even one of the same user: a close-on-exec
 * socket that does not listen. Connections in TIME_WAIT do not matter. -1 and err.
 */
int port_bind (int number, struct errtext *err);

/* Listen on the reserved number with a new dual-stack, close-on-exec socket. -1 and err. */
int port_listen (const struct port *port, struct errtext *err);

/* The same for a number that another process or an inherited descriptor of this user may hold. */
int port_listen_on (int number, struct errtext *err);

/* Close the port and the claim. NULL is fine; errno is kept. */
void port_release (struct port *port);

#endif
