/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A network interface of a node with one of its addresses, as the kernel reports it.
 */
#ifndef TF_INTERFACE_H
#define TF_INTERFACE_H

#include <net/if.h>
#include <stdbool.h>

#include "common/errtext.h"
#include "common/subnet.h"

/* The most that a node reports. */
#define INTERFACE_MAX 64

enum interface_state {
    INTERFACE_UP,
    INTERFACE_NO_CARRIER,   /* up, with its addresses, but without a cable or a fabric */
    INTERFACE_DOWN,
};

struct interface {
    char name[IF_NAMESIZE];
    bool infiniband;            /* the kernel's link type, ARPHRD_INFINIBAND, not the name */
    enum interface_state state;
    struct subnet address;      /* neither loopback nor link-local; family 0: it has none */
    const char *local_cpus;     /* a mask of the CPUs close to it (cpus.h); NULL: not known */
};

/*
 * List this node's interfaces: one entry for each address, and one for an interface without
 * addresses. InfiniBand comes first, otherwise the order is the kernel's. Loopback and interfaces
 * whose names are not printable ASCII are left out.
 * Returns the number of entries; -1 and err if the kernel does not report the interfaces.
 */
int interface_list (struct interface list[INTERFACE_MAX], struct errtext *err);

/*
 * The name of this node's interface that has the address; of a loopback address that no interface
 * lists, the loopback interface, which has no other. If several have it, one that is up with carrier. -1 if
 * none has.
 */
int interface_with_address (char name[IF_NAMESIZE], const struct address *address);

/*
 * Why other nodes cannot connect to it: "is down", "has no carrier", "has no address"; NULL if they can,
 * and it is a candidate.
 */
const char *interface_fault (const struct interface *interface);
bool interface_is_candidate (const struct interface *interface);

/* A buffer for an interface as text, without its CPUs. */
struct interface_text {
    char text[IF_NAMESIZE + sizeof (" other no-carrier ") + sizeof (struct subnet_text)];
};

/* Returns room->text: "ib0 infiniband up 10.1.0.5/16", "eth1 other down -". */
const char *interface_print (const struct interface *interface, struct interface_text *room);

/*
 * Parse the same text, which a blank and the mask of the CPUs may follow; local_cpus then points
 * into the text. -1 if it is anything else.
 */
int interface_parse (struct interface *interface, const char *text);

#endif
