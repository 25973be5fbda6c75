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
#include "common/deadline.h"
#include "common/rules.h"
#include "ends.h"
#include "protocol/life_report.h"
#include "protocol/registration.h"
#include "restart_policy.h"
#include "restarts.h"
#include "watchdog.h"

struct peer;

/* Before a rank has its answer it may be lost, and register again. */
enum rank_launch {
    RANK_AWAITED,                       /* it has not registered yet */
    RANK_HERE,                          /* it has: its connection stands, or it has its answer */
    RANK_GONE,                          /* it had; its connection is gone */
};

/*
 * Does its program run? job.c changes this, and restarts.c for WAITS and CALLED:
 *
 *     RUNS -> WAITS                 to be restarted, after a pause or with all
 *     RUNS -> KEPT                  ended with 0; its supervisor stays, as all may be restarted
 *     KEPT -> CALLED                they are
 *     WAITS, CALLED -> RUNS         its next life
 *     RUNS, WAITS -> LOST -> RUNS   the supervisor did not come back in time; it does
 *     any but LOST -> ENDED         for good
 *     SPARE -> WAITS, CALLED        a spare gets the place of another rank, which has ENDED (spares.h)
 *     SPARE -> LOST -> SPARE        as above
 *
 * A rank that is KEPT, CALLED, LOST or ENDED has ended: others see that, and the stop policy counts it. In a
 * step without supervisors all ranks run.
 */
enum rank_state {
    RANK_RUNS,
    RANK_SPARE,                         /* its program has not started; it waits for a place */
    RANK_WAITS,
    RANK_KEPT,
    RANK_CALLED,
    RANK_LOST,
    RANK_ENDED,
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
    int master_port, gpus;
    int component_first, component_tasks;
    struct interface *interface;
    int interfaces;
    char *cpus;
    char *locality_error;
    char *supervisor_error;
    char *log_dir;
    char *users;
    char *own_name;
    bool proxied;

    /* Decided for it. */
    const char *role;                   /* NULL before; lives as long as the step */
    /*
     * Of the role. RULES_ROLES: a site's own, or an auxiliary task. RULES_SPARE: it is not in the cluster,
     * because it waits for a place, or because a spare has got its place; then its role and index are those
     * that it had.
     */
    enum rules_name kind;
    bool beside;                        /* the cluster: it is an auxiliary task (common/beside.h) */
    int index;                          /* within its role */
    struct address address;             /* for its peers */
    char chosen_interface[IF_NAMESIZE]; /* its name; "" if it is not known */
    bool serves;                        /* it only serves others (stop_policy.h) */

    /* Since its answer, if it has a supervisor. */
    enum rank_state state;
    struct deadline away;               /* when it is LOST, or was; never: its supervisor is not missed */
    struct deadline given_up;           /* when a spare may get its place; or never */
    struct deadline last_sign;          /* of its supervisor, if that is away; or never */
    bool ordered;                       /* to stop, on the connection that it has now */
    struct end end;                     /* of the present life */
    enum address_use address_use; /* of all lives that have ended */
    bool tells_unanswered; /* for its node: unanswered.h */
    struct life life;
    struct restart_standing restart;
    struct watch_standing watch;

    /* A place is a role and an index. A spare that gets one may lose it to another spare. */
    struct rank *replaced_by, *replaces;    /* or NULL */
    const char *first_role;             /* of a spare that has a place: "spare"; names its log */
    int first_index;
};

/* What a registration says. -1 if there is no memory. */
int rank_register (struct rank *rank, const struct registration *registration);

/* The role is not copied. */
void rank_set_role (struct rank *rank, const char *role);

/* The role and index for which its log file is named. */
const char *rank_log_role (const struct rank *rank, int *index);

bool rank_has_ended (const struct rank *rank);

/* Its supervisor is not let go: there is a next life, or may be, or the end of this one is to come. */
bool rank_is_supervised (const struct rank *rank);

/* Free what it has, but not its connection. */
void rank_clear (struct rank *rank);

#endif
