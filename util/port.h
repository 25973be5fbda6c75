/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A TCP port that this process holds: bound on every address of the node, never listening
 * (who dials it is refused at once), and shared by SO_REUSEPORT with a server of the same
 * user that asks for it. No other user's bind and no exclusive bind can take it.
 */
#ifndef TF_PORT_H
#define TF_PORT_H

#include <stdbool.h>
#include <stddef.h>

#include "errtext.h"

struct port_range {
    int low, high;      /* inclusive, 1024..65535 */
};

/* As many as a list of them may have. */
#define PORT_MAX_RANGES 64

struct port_ranges {
    size_t count;       /* 0: any port, the kernel's choice */
    struct port_range range[PORT_MAX_RANGES];
};

/* "any", or "LOW-HIGH" and "PORT" with commas between; -1 and err says what is wrong. */
int port_ranges_parse (struct port_ranges *ranges, const char *text, struct errtext *err);

enum port_hold {
    PORT_HELD,          /* the port itself stays bound across exec */
    PORT_CLAIMED,       /* exec frees it; a claim stays that others of us respect */
};

struct port;

/*
 * Reserve a port. Call it as the user who will serve: a socket of another user locks the
 * server out (socket(7), SO_REUSEPORT). `start` spreads ranks that search the same ranges
 * at the same time. For PORT_CLAIMED and any port the choice is made outside the kernel's
 * ephemeral range, whose ports any program gets by itself.
 * 0 and *pp, to be released with port_release (); -1 and err when no port is free or the
 * node has neither IPv6 nor IPv4.
 */
int port_reserve (struct port **pp, const struct port_ranges *ranges, unsigned int start,
                  enum port_hold hold, struct errtext *err);

/* The number, in host byte order. */
int port_number (const struct port *port);

/*
 * Leave the port to the program that this process will exec: what must stay open stays open
 * across exec, under a high descriptor number (200 or more where the limit allows) that no
 * script closes by accident. The handle is freed.
 */
void port_leave (struct port *port);

/* Listen on the reserved number: a socket of its own, dual stack, CLOEXEC; -1 and err. */
int port_listen (const struct port *port, struct errtext *err);

/* Close it. NULL is fine; errno is kept. */
void port_release (struct port *port);

#endif
