/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An address with a prefix length, and the network that they define.
 */
#ifndef TF_SUBNET_H
#define TF_SUBNET_H

#include <stdbool.h>

#include "address.h"
#include "errtext.h"

struct subnet {
    struct address address;     /* family 0: not set */
    int prefix;                 /* in bits, 0..32 or 0..128 */
};

/* A buffer for a subnet as text. */
struct subnet_text {
    char text[INET6_ADDRSTRLEN + sizeof ("/128")];
};

/* Parse "10.1.0.5/16" or "fd00::1/64"; the host bits are kept. -1 if the text is not a subnet. */
int subnet_parse (struct subnet *subnet, const char *text);

/* The network of an address: the same with the host bits zero. */
struct subnet subnet_network (const struct subnet *subnet);

bool subnet_has (const struct subnet *network, const struct address *address);

/* For sorting: IPv4 before IPv6, then by address, then by prefix. 0 if they are equal. */
int subnet_compare (const struct subnet *a, const struct subnet *b);

/* Returns room->text: "10.1.0.0/16". */
const char *subnet_print (const struct subnet *subnet, struct subnet_text *room);

#endif
