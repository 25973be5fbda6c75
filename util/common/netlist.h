/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Networks as --tf-network names them, in order of preference: "10.1.0.0/16,fd00::/64,ib0".
 */
#ifndef TF_NETLIST_H
#define TF_NETLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "errtext.h"
#include "subnet.h"

#define NETLIST_MAX 16

/* The value that stands for no preference. It cannot be an item of a list. */
#define NETLIST_ANY "any"

struct netlist_item {
    char text[INET6_ADDRSTRLEN + sizeof ("/128")];
    bool is_network;            /* if not, text is the name of an interface */
    struct subnet network;
};

struct netlist {
    size_t count;
    struct netlist_item item[NETLIST_MAX];
};

int netlist_parse (struct netlist *list, const char *text, struct errtext *err);

/* True if the text can be the name of an interface and is printable ASCII. */
bool netlist_is_interface (const char *text);

#endif
