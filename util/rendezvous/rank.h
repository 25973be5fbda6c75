/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A rank of a step, and all that tf-rendezvous knows of it: its task, its connection, whether it
 * runs. Every rank has one, in the roster; what decides about ranks (launch.c, stop_policy.c,
 * restart_policy.c, restarts.c, …) has no notes of its own.
 */
#ifndef TF_RANK_H
#define TF_RANK_H

#include <net/if.h>
#include <stdbool.h>

#include "addresses/host.h"
#include "addresses/interface.h"
#include "common/address.h"
#include "common/rules.h"
#include "protocol/registration.h"

struct peer;

/* Before a rank has its answer it may be lost, and register again. */
enum rank_launch {
    RANK_AWAITED,                       /* it has not registered yet */
    RANK_HERE,                          /* it has: its connection stands, or it has its answer */
    RANK_GONE,                          /* it had; its connection is gone */
};

struct rank {
    int number;
    enum rank_launch launch;
    struct peer *peer;                  /* its connection, or NULL */

    /* From its registration; strings are copies, NULL where they are NULL there. */
    char *node;
    int node_index;
    struct host host;
    struct address connected;           /* its end of the connection to the rendezvous */
    struct address srun;                /* the rendezvous' end of it */
    int port;
    int component_first, component_tasks;
    struct interface *interface;
    int interfaces;
    char *cpus;
    char *locality_error;
    char *supervisor_error;
    char *log_dir;
    bool proxied;

    /* Decided for it. */
    const char *role;                   /* NULL before; lives as long as the step */
    enum rules_name kind;               /* of the role; RULES_ROLES: a site's own, or beside the cluster */
    bool beside;                        /* the cluster (common/beside.h) */
    int index;                          /* within its role */
    struct address address;             /* for its peers */
    char chosen_interface[IF_NAMESIZE]; /* its name; "" if it is not known */
    bool serves;                        /* it only serves others (stop_policy.h) */
};

/* What a registration says. -1 if there is no memory. */
int rank_register (struct rank *rank, const struct registration *registration);

/* The role is not copied. */
void rank_set_role (struct rank *rank, const char *role);

/* Free what it has, but not its connection. */
void rank_clear (struct rank *rank);

#endif
