/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The TCP sockets of this network namespace, of any process and user (sock_diag (7)). No connection is made.
 */
#ifndef TF_DIAG_H
#define TF_DIAG_H

#include <linux/inet_diag.h>

#include "address.h"

typedef void diag_see_fn (const struct inet_diag_msg *socket, void *arg);

/*
 * Show `see`, unless it is NULL, each socket of IPv4 and IPv6 that is in one of these states, such as
 * 1 << TCP_LISTEN, and, unless the port is 0, has this local port. The number of sockets; -1: the kernel does
 * not tell.
 */
int diag_dump (unsigned int states, int port, diag_see_fn *see, void *arg);

/* The port of the other end, and its address. -1 if that is not an IP address. */
int diag_peer (const struct inet_diag_msg *socket, struct address *address);

/* The address of an end, idiag_src or idiag_dst. -1 if that is not an IP address. */
int diag_address (int family, const void *bytes, struct address *address);

#endif
