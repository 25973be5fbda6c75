/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hosts of a step, each with its ranks and the addresses that other nodes can reach.
 */
#ifndef TF_CANDIDATES_H
#define TF_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>

#include "addresses/host.h"
#include "addresses/interface.h"
#include "common/address.h"
#include "common/subnet.h"

/* A rank before and after the choice. Pointers are the caller's, except chosen_interface. */
struct network_rank {
    const char *node;                   /* its name, for messages */
    const struct host *host;
    struct address here;                /* the rank's end of its connection to the rendezvous */
    struct address srun;                /* the rendezvous' end of it */
    const struct interface *interface;  /* of its host, from the host's first rank; or NULL */
    int interfaces;
    const char *cpus;                   /* the mask of its CPUs (cpus.h); NULL: all */
    /* Filled in by network_choose (). */
    struct address chosen;
    const char *chosen_interface;       /* the name, in `interface`; NULL if it is not known */
};

/* Ranks that share a network stack: those on one node, or in one network namespace of it. */
struct candidates_host {
    const char *node;
    size_t first, ranks;                /* its ranks: order[first..first + ranks - 1] */
    const struct interface *interface;
    int interfaces;
};

/* An address of an interface that is up and has carrier. */
struct candidate {
    size_t host;
    const struct interface *interface;
    struct subnet network;
    bool duplicate;                     /* another host has the same address */
    bool tainted;                       /* some address of its network is a duplicate */
};

struct candidates {
    struct network_rank *rank;          /* the caller's */
    size_t hosts;
    struct candidates_host *host;       /* by their lowest rank */
    size_t *order;                      /* ranks by host, then ascending */
    size_t count;
    struct candidate *candidate;        /* by network, then host, then the kernel's order */
};

/* NULL if there is no memory. `count`, the number of ranks, is 1 or more. */
struct candidates *candidates_create (struct network_rank *ranks, size_t count);
void candidates_destroy (struct candidates *candidates);

/* The index behind the last candidate on the network of the i-th; none before i counts. */
size_t candidates_end_of_network (const struct candidates *candidates, size_t i);

#endif
