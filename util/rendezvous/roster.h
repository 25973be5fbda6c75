/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ranks of a step: which have registered, and what is known of each (job/model.h).
 */
#ifndef TF_ROSTER_H
#define TF_ROSTER_H

#include <stdbool.h>

#include "common/address.h"
#include "job/model.h"
#include "layout.h"
#include "protocol/registration.h"
#include "protocol/rendezvous_config.h"

/* What a step is called. */
struct step_id {
    char number[REGISTRATION_MAX_STEP + 1];     /* "12.0", as Slurm's commands take it */
    /* "step 12.0", or of an array "step 12.0 (11_3)", for messages */
    char name[sizeof ("step  ()") + REGISTRATION_MAX_STEP + RENDEZVOUS_CONFIG_MAX_ARRAY];
};

struct roster {
    struct step_id step;
    int tasks;                          /* of the step; 0 before the first registration */
    struct rank *rank;                  /* by number */
    struct place *place;                /* of those that are not spares, when all have their roles */
    int places;
    struct layout layout;
};

/* A zeroed roster is empty. */
void roster_clear (struct roster *roster);

/* Its step is "12.0". */
void roster_set_step (struct roster *roster, const char *number, const char *array);

/* The number of tasks is known. -1 if there is no memory. */
int roster_set_size (struct roster *roster, int tasks);

/*
 * A rank that is not here has registered; its connection ends at `srun` on this side, and comes `from` there.
 * When all have, components that have only numbers get their first rank and size. -1 if there is no memory.
 */
int roster_add (struct roster *roster, const struct registration *registration, const struct address *srun,
                const struct address *from);

/*
 * Is that node, which is at the other end of a connection, the one on which the rank registered? Its name
 * has to be the same, and its address that of the registration, or one of the interfaces that the node has
 * registered: a node with several networks may have to use another one when a link is down. Other addresses
 * of a node do not count, because any node with the token can write this node's name. True of a rank that
 * never registered.
 */
bool roster_is_home (const struct roster *roster, const struct rank *rank, const char *node,
                     const struct address *from);

/* All ranks have their roles: those that are not spares get places. -1 if there is no memory. */
int roster_set_places (struct roster *roster);

/*
 * A rank registers again after its answer was sent, because the answer did not arrive: what was
 * decided stays. NULL if this is not the task of its node that registered before, or if that one is here: it
 * has acknowledged its answer, or its connection, or its supervisor's, stands.
 */
struct rank *roster_return (struct roster *roster, const struct registration *registration);

/* How many ranks are not here; and those of them that were, whose connections are gone. */
int roster_missing (const struct roster *roster);
int roster_gone (const struct roster *roster);

#endif
