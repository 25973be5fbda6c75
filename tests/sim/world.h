/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A world in which the decisions of one rendezvous (util/job) and of up to 12 supervisors
 * (util/supervise/machine.h) meet: real code, and around it a network, nodes, programs, srun and Slurm that
 * are a few lines each, with a clock of their own. A seed decides everything: the step, its options, what its
 * programs do, and the disturbances. The same seed has the same history.
 *
 * world_run () plays a history and writes down what a spectator would see, who knows what is alive and what
 * was printed, but not what the code has noted. promises.h judges that.
 */
#ifndef TF_WORLD_H
#define TF_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"
#include "protocol/supervisor_config.h"

#define MOST_RANKS 12
#define MOST_NODES MOST_RANKS
#define MOST_DISTURBANCES 6
#define MOST_NOTES 4096
#define MOST_LIVES 64

/* What happens to a step from outside. */
enum disturbance_kind {
    CUT,                /* a node reaches no other host, for a while */
    BLOCK,              /* ... not srun's host, but the other nodes */
    REJECT,             /* a firewall refuses the rendezvous' port to a node, for a while */
    RESET,              /* a connection is reset */
    DIE,                /* a node dies */
    KILL_PROGRAM,       /* by a signal from somewhere */
    KILL_SUPERVISOR,    /* -9, and its guard ends the tree */
    KILL_FORK_SERVER,   /* no other life can begin there */
    KILL_SLURMSTEPD,    /* srun does not learn of the end of this task */
    HALF_OPEN,          /* a connection is reset, and its supervisor notices later */
    SUSPEND,            /* the job, for a while; resumed */
    WARN,               /* Slurm sends a signal to all tasks, and nothing follows */
    CANCEL,             /* SIGTERM, and SIGKILL after KillWait */
    KILL_SRUN,
    RESET_ALL,          /* all connections, as by a switch that is restarted */
    KILL_RENDEZVOUS,    /* -9; it is begun again */
    LIMIT, /* the tasks are asked to save, as --tf-requeue says; by the rendezvous, when that knows of it */
    KILL_GROUP, /* a program sends SIGTERM to its process group, which supervisors of its node are in, too */
    DISTURBANCE_KINDS
};

struct disturbance {
    enum disturbance_kind kind;
    int64_t at;
    int64_t lasts; /* milliseconds */
    int target; /* rank or node */
    int number; /* signal */
};

/* What the programs of a rank do, life after life; the last one is repeated. */
struct script {
    int64_t lasts; /* or NEVER: until it is stopped */
    int status; /* wait status */
    int64_t handles; /* SIGTERM: it ends so much later; NEVER: it ignores it; 0: it dies of it */
    int handled_status; /* ... with this wait status */
    int64_t leaves; /* a process in the background, for so long; 0: none */
    int64_t hangs; /* it has no activity from this age on; or NEVER */
};

/* What a check of a node finds. */
enum health {
    HEALTHY,
    FAILS, /* its program does */
    HANGS, /* ... does not end */
    UNTOLD, /* its supervisor does not report */
    SLOW, /* its links are */
    DEAF, /* it reaches no other node */
};

struct plan {
    uint64_t seed;
    int tasks, nodes;
    enum rules_name kind[MOST_RANKS];
    bool beside[MOST_RANKS];
    int node[MOST_RANKS];
    int srun; /* the node where srun is, or -1: none of them */
    bool no_kill; /* srun's: the step survives the loss of a node */
    int wait; /* srun's: seconds after the first task has ended; 0: no limit */
    struct rendezvous_config config;
    int kill_wait;
    bool forwards; /* Slurm signals supervisors only */
    bool batch; /* srun is suspended with its job */
    struct script script[MOST_RANKS][3];
    int64_t delay; /* of a message, at most */
    bool mute[MOST_RANKS]; /* of this place: a program that only serves has no activity */
    int64_t skew; /* Slurm's signals come to supervisors so much later than to programs, at most */
    int64_t
        tee; /* what a program of each second rank has printed is passed on so long before its end is told */
    int64_t start_ms; /* from the start of a program to its first activity, */
    int64_t sign_ms; /* ... and between two of them; each is a step */
    enum health health[MOST_NODES];
    int firewall[2]; /* these two nodes do not reach each other; -1: all do */
    int lost_steps; /* a program that begins again goes on so many steps before the highest */
    struct disturbance disturbance[MOST_DISTURBANCES];
    int disturbances;
};

/* What is seen. */
enum note_kind {
    BEGAN, /* a program: rank, life, place, generation of its dictionary; status: the highest
                           step that any has said */
    ENDED, /* ... : rank, life, wait status; `cause`; number: the step that it has said last, or 0 */
    CLEAR, /* no process of the task is left: rank, life */
    ASKED, /* the supervisor sends SIGTERM or SIGABRT to all: rank, signal */
    KILLED, /* ... SIGKILL, and it meets a process: rank */
    LEFT, /* a supervisor: rank, wait status; number: it has a connection */
    GONE, /* it was killed: rank */
    UNHEARD, /* srun does not learn of that: its message was lost, as plain Slurm's would be */
    PLACES, /* a new dictionary: generation */
    TOLD, /* a fact that srun prints: kind, rank, number */
    TOLD_TO_STOP, /* the rendezvous tells a supervisor so: rank, life */
    QUESTION, /* ... asks it for signs: rank; number: how often it was asked */
    DISTURBED, /* its number, kind and target */
    CALMED, /* ... is over */
    SUSPENDED,
    RESUMED,
    RENDEZVOUS_ENDED,
    SRUN_ENDED, /* number: its exit code */
    TABLE, /* rank, wait status as the table of ends has it, number: lost or replaced */
    FIRST, /* the rank that "first to fail" names, or -1 */
    STUCK, /* the clock stands: somebody is due again and again */
};

enum end_cause {
    BY_ITSELF,
    BY_SUPERVISOR,
    BY_SLURM,
    BY_OUTSIDE,
};

struct note {
    int64_t at;
    enum note_kind kind;
    int rank, life, place, number, status;
    int base; /* of BEGAN: the step after which it goes on; of TABLE: it had to be killed */
    enum end_cause cause;
};

struct history {
    const struct plan *plan;
    struct note note[MOST_NOTES];
    int notes;
    int64_t begin; /* when the launch was complete */
    int64_t end; /* when all had ended, or the time was over */
    bool all_ended;
    bool alive_at_end; /* a supervisor was, when the time was over */
    uint64_t hash;
    bool has_ledger; /* all had ended, as was told, then */
    struct ledger ledger;
    int64_t ledger_at;
    /* By generation: the place of each rank, or -1. */
    int place[16][MOST_RANKS];
    int generations;
};

/* Make a plan from a seed. */
void plan_make (struct plan *plan, uint64_t seed);

/* Play it with the first `disturbances` of its disturbances. `print`: what is noted, as text, to stdout. */
void world_run (const struct plan *plan, int disturbances, struct history *history, bool print);

const char *plan_role (const struct plan *plan, int rank);

/* Its list and options, and what disturbs it, for a reader. */
void plan_print (const struct plan *plan, int disturbances);

/* NULL if all promises are kept; else the one that is not, and *why. */
const char *promises_check (const struct history *history, const char **why);

#endif
