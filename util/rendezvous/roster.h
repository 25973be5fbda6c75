/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ranks of a step: which have registered, and what is known of each.
 */
#ifndef TF_ROSTER_H
#define TF_ROSTER_H

#include <net/if.h>
#include <stdbool.h>

#include "addresses/host.h"
#include "addresses/interface.h"
#include "common/address.h"
#include "common/errtext.h"
#include "layout.h"
#include "protocol/registration.h"

struct member {
    bool here;                          /* has registered, and its connection stands */
    bool lost;                          /* had registered; its connection is gone */
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
    /* Decided by the rendezvous; role is NULL before. */
    const char *role;                   /* lives as long as the step */
    int index;                          /* within its role */
    struct address address;             /* for its peers */
    char chosen_interface[IF_NAMESIZE]; /* its name; "" if it is not known */
    bool serves;                        /* it only serves others (stop_policy.h) */
};

/* What a step is called. */
struct step_id {
    char number[REGISTRATION_MAX_STEP + 1];     /* "12.0", as Slurm's commands take it */
    char name[sizeof ("step ") + REGISTRATION_MAX_STEP];    /* "step 12.0", for messages */
};

struct roster {
    struct step_id step;
    int tasks;                          /* of the step; 0 before the first registration */
    int here, lost;                     /* how many members are */
    struct member *member;              /* by rank */
    struct layout *layout;              /* nodes of the ranks that have not registered */
};

/* A zeroed roster is empty. */
void roster_clear (struct roster *roster);

/* Its step is "12.0". */
void roster_set_step (struct roster *roster, const char *number);

/* The number of tasks is known. -1 if there is no memory. */
int roster_set_size (struct roster *roster, int tasks);

/*
 * A rank that is not here has registered; its connection ends at `srun` on this side. -1 if there
 * is no memory.
 */
int roster_add (struct roster *roster, const struct registration *registration,
                const struct address *srun);

/* A rank's connection is gone; it may register again. */
void roster_lose (struct roster *roster, int rank);

/*
 * A rank registers again after its answer was sent, because the answer did not arrive: what was
 * decided stays. False if this is not the task that registered before, or if that one is here: it
 * has acknowledged its answer, or its connection stands.
 */
bool roster_return (struct roster *roster, const struct registration *registration);

/* How many ranks are not here. */
int roster_missing (const struct roster *roster);

#endif
