/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A TCP port that this process holds: bound on every address of the node, but not listening unless it is
 * PORT_TO_LISTEN, so that the kernel refuses connections to it. It was bound exclusively, and has
 * SO_REUSEADDR since: a server that sets it, as nearly all do, can bind the port. The kernel gives the number
 * to no program by itself, and a program that does not set SO_REUSEADDR cannot bind it. One that asks for
 * this number and sets it can, of any user, until the server listens; then the server cannot.
 */
#ifndef TF_PORT_H
#define TF_PORT_H

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

struct port {
    int number; /* in host byte order */
    int socket; /* bound, close-on-exec */
};

enum port_use {
    PORT_FOR_A_SERVER,      /* of another process, which sets SO_REUSEADDR */
    /*
     * This process listens on it at once. It does not get SO_REUSEADDR: until port_release () no program of
     * another user can bind it, whatever it sets.
     */
    PORT_TO_LISTEN,
};

/*
 * Reserve a port. The search begins at the start-th port of the ranges, so that tasks with different `start`
 * do not try the same ports. If any port will do, the kernel chooses it. Two reservations on a node never
 * have the same number.
 * 0 and *pp, to be released with port_release () or port_leave (); -1 and err if no port is free
 * or the node has neither IPv6 nor IPv4.
 */
int port_reserve (struct port **pp, const struct port_ranges *ranges, unsigned int start, enum port_use use,
                  struct errtext *err);

/*
 * Listen on a port that was reserved for that with a new socket, dual-stack and close-on-exec, and no
 * more with the old one, of which other processes may have copies. There is no moment in which none
 * listens; connections that wait at the old one are reset. From then on programs of the same user that set
 * SO_REUSEPORT can bind the port. -1 and err.
 */
int port_listen_anew (const struct port *port, struct errtext *err);

/* Leave the port to the program that this process will exec (descriptors_leave_open ()). Frees `port`. */
void port_leave (struct port *port);

/*
 * Listen on a number, which a struct port, another process or an inherited descriptor may hold, with a new
 * dual-stack, close-on-exec socket. -1 and err.
 */
int port_listen_on (int number, struct errtext *err);

/* Close the port. NULL is fine; errno is kept. */
void port_release (struct port *port);

#endif
