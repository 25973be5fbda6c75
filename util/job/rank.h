/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A rank of a step, and all that tf-rendezvous knows of it: its task, its connection, whether it runs.
 * Every rank has one, in the roster (rendezvous/roster.h); what decides about ranks has no notes of its
 * own.
 */
#ifndef TF_RANK_H
#define TF_RANK_H

#include <net/if.h>
#include <stdbool.h>

#include "addresses/host.h"
#include "addresses/interface.h"
#include "common/address.h"
#include "common/rules.h"
#include "ends.h"
#include "moment.h"
#include "protocol/goal.h"
#include "protocol/life_report.h"
#include "restart_policy.h"
#include "restarts.h"
#include "tracebacks.h"
#include "watchdog.h"

struct peer;

/* Before a rank has its answer it may be lost, and register again. */
enum rank_launch {
    RANK_AWAITED,                       /* it has not registered yet */
    RANK_HERE,                          /* it has: its connection stands, or it has its answer */
    RANK_GONE,                          /* it had; its connection is gone */
};

/*
 * Does its program run? A rank that is KEPT, CALLED, LOST or ENDED has ended: others see that, and the stop
 * policy counts it. In a step without supervisors all ranks run.
 */
enum rank_state {
    RANK_RUNS,
    RANK_SPARE,                         /* its program has not started; it waits for a place */
    RANK_WAITS,                         /* for its next life, after a pause or with all */
    RANK_KEPT,                          /* it has ended with 0; its supervisor stays for a restart of all */
    RANK_CALLED,                        /* they are: it waits, too */
    RANK_LOST,                          /* its supervisor did not come back in time */
    RANK_ENDED,                         /* for good */
};

/* What changes that: rank_change (), whose table has every case. */
enum rank_input {
    RANK_IS_TO_WAIT, /* its life has ended, and there may be another; a spare gets a place */
    RANK_IS_KEPT,
    RANK_IS_LOST,
    RANK_IS_DONE,
    RANK_BEGINS, /* its next life */
    RANK_RETURNS, /* its supervisor is back */
    RANK_INPUTS
};

/* What the rendezvous can send to its supervisor. */
enum rank_link {
    LINK_NONE, /* nothing: there is no connection */
    LINK_BUSY, /* nothing yet: an answer is on its way */
    LINK_UP,
};

struct rank {
    int number;
    enum rank_launch launch;
    struct peer *peer; /* its connection, or NULL; only the wire looks at it */

    /* From its registration; strings are copies, NULL where they are NULL there. */
    char *node;
    int node_index;
    struct host host;
    struct address connected; /* its end of the connection to the rendezvous */
    struct address srun; /* the rendezvous' end of it */
    struct address from; /* and the other one, as the rendezvous sees it */
    bool at_srun; /* on its host, where the rendezvous is */
    int port;
    int master_port, gpus;
    int component_first, component_tasks;
    struct interface *interface;
    int interfaces;
    char *cpus;
    char *locality_error;
    char *supervisor_error;
    char *log_dir;
    bool log_dir_private;
    char *users;
    char *own_name;
    bool proxied;

    /* Decided for it. */
    const char *role; /* NULL before; lives as long as the step */
    /*
     * Of the role. RULES_ROLES: a site's own, or an auxiliary task. RULES_SPARE: it is not in the cluster,
     * because it waits for a place, or because a spare has got its place; then its role and index are those
     * that it had.
     */
    enum rules_name kind;
    bool beside; /* the cluster: it is an auxiliary task (common/beside.h) */
    int index; /* within its role */
    struct address address; /* for its peers */
    char chosen_interface[IF_NAMESIZE]; /* its name; "" if it is not known */
    bool serves; /* it only serves others (stop_policy.h) */
    bool needs_master_port; /* who has this place: it is process 0 of PyTorch */

    /* Since its answer, if it has a supervisor. */
    enum rank_state state;
    enum rank_link link;
    bool silent; /* its host was not heard for a while, though the connection stands; the wire's, too */
    bool suspended; /* Slurm has suspended the job, as its supervisor has told */
    int64_t heard; /* when its supervisor's host was, last, as far as a status or a connection's end tells */
    int64_t unheard; /* since when it has been silent; NEVER: it has not, as far as is known; */
    bool unheard_told; /* ... and users know that */
    bool broke; /* the last connection: nothing was heard on it */
    int64_t away; /* when it is LOST, or was; NEVER: its supervisor is not missed, */
    int64_t absent; /* ... as it has been since then */
    bool overdue; /* it is to be told as lost now */
    bool undone; /* it was lost, and the job has ended without it, or it was to begin again with all */
    int64_t given_up; /* when a spare may get its place; or NEVER */
    struct end end; /* of the present life */
    enum address_use address_use; /* of all lives that have ended */
    bool tells_unanswered; /* for its node: unanswered.h */
    /*
     * The last report that has come from its supervisor; its number, or 0 if that has returned and runs, or
     * is lost; and the life that it was in then, or since.
     */
    struct exit_report said;
    int report, has;
    struct goal told; /* its supervisor, on the present connection; .life -1: nothing yet */
    struct life life;
    struct restart_standing restart;
    struct watch_standing watch;
    struct traceback traceback;

    /* A place is a role and an index. A spare that gets one may lose it to another spare. */
    struct rank *replaced_by, *replaces; /* or NULL */
    const char *first_role; /* of a spare that has a place: "spare"; names its log */
    int first_index;
    int64_t placed; /* when it got that */
};

/* The role and index for which its log file is named. */
const char *rank_log_role (const struct rank *rank, int *index);

/* The chief, or the master, of which a cluster has one or none. Without it worker 0 does its work. */
bool rank_is_chief (const struct rank *rank);

void rank_change (struct rank *rank, enum rank_input input);

/* Its work is watched, under --tf-watchdog: that of workers, chief and master. */
bool rank_is_watched (const struct rank *rank);

/* Others wait for it; for an evaluator, or an auxiliary task, they do not. */
bool rank_takes_part (const struct rank *rank);

/* Its present life was found to hang, and has not ended. */
bool rank_is_hung (const struct rank *rank);

bool rank_has_ended (const struct rank *rank);

/* For its next life. */
bool rank_waits (const struct rank *rank);

/* Its supervisor is not let go: there is a next life, or may be, or the end of this one is to come. */
bool rank_is_supervised (const struct rank *rank);

#endif
