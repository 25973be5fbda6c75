/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A job: all that is decided about the supervised tasks of a step. It takes what happens, and what time it
 * is, and appends facts (facts.h), which are to be told. What supervisors are to do follows from what is
 * known (job_goal ()). It has no clock, socket, stream or process, so that stories can be told about it
 * (tests/unit/shutdown.golden), and it can be simulated.
 *
 *     course.c          a rank ends, or runs again; is the job over?
 *     stop_policy.c     when it is, and which tasks are stopped then
 *     restarts.c        lives, their clocks, and the barrier before a restart of all
 *     restart_policy.c  what a failure leads to
 *     absence.c         supervisors without a connection
 *     isolation.c       is srun's host cut off?
 *     spares.c          spares that get the places of lost ranks
 *     watchdog.c        tasks that give no sign of life
 *     tracebacks.c      tasks that have printed one, and do not end
 *     unanswered.c      nodes that do not reach each other
 *     ledger.c          what the time of the step went into
 *     ends.c, alone.c   how tasks ended, and what failed first; has each trained alone?
 */
#ifndef TF_JOB_H
#define TF_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "facts.h"
#include "ledger.h"
#include "moment.h"
#include "protocol/goal.h"
#include "protocol/rendezvous_config.h"
#include "protocol/status.h"
#include "rank.h"
#include "restarts.h"
#include "stop_policy.h"
#include "tracebacks.h"
#include "unanswered.h"
#include "watchdog.h"

struct job {
    const struct rendezvous_config *config;
    struct rank *rank;                  /* by number */
    int tasks;
    int64_t now;                        /* of the last input */
    int64_t run;                        /* the same, but it stands still while the job is suspended */
    bool isolated; /* srun's host is cut off (isolation.h), as of the last job_time () */
    bool suspended; /* ... until the last input, */
    int64_t suspended_at; /* since then */
    struct facts facts;
    struct stop_policy *policy;
    struct restarts *restarts;
    struct watchdog watchdog;
    struct ledger ledger;
    struct unanswered unanswered;
    int64_t back; /* when srun's host was, perhaps, after an outage; 0: never */
    int64_t launched; /* when the tasks got their answers */
    int64_t grace_over; /* of evaluators; never before the job is over */
    int64_t failure_over; /* fail_grace; never if no task has failed without a ps */
    int ends; /* that have been noted */
    bool end_told, miss_told; /* what is told once */
    const struct rank *decided; /* its failure has stopped all for a restart that has not begun; or NULL */
    int64_t replaced_sign; /* the first last sign of those that are to begin; or NEVER */
};

/* When job->run will be there; NEVER while it stands still. */
static inline int64_t job_when (const struct job *job, int64_t run)
{
    return run == NEVER || job->suspended ? NEVER : job->now + (run - job->run);
}

/*
 * Of `tasks` ranks, one or more, which have their roles. They, and the configuration, must live as long.
 * NULL if there is no memory.
 */
struct job *job_create (const struct rendezvous_config *config, struct rank *rank, int tasks);

/* NULL is fine. */
void job_destroy (struct job *job);

/* The launch is complete, after so long: all tasks have supervisors, and run. */
void job_launched (struct job *job, int64_t now, int64_t launch_ms);

/* The supervisor of a rank tells its status, which has not changed in all its parts. */
void job_status (struct job *job, int64_t now, struct rank *rank, const struct status *status);

/*
 * Its connection has ended; its host was heard last at that moment. How long it is waited
 * for depends on how the connection has ended:
 *
 * CLOSED   A supervisor that closes its connection and goes on reconnects within a second (uplink.c).
 * RESET    A process that is killed with data that it has not read sends a reset. So does a host on the way,
 *          or one that has restarted: then the network works, and a supervisor notices within 30 s
 *          (tcp_keep_alive ()) and connects again.
 * BROKEN   One whose connection the network broke may take 100 s to notice that, to wait, and to connect
 *          (uplink.c), and the network may be down for longer. Slurm gives up a node after SlurmdTimeout,
 *          300 s by default: before that a training that the outage itself did not end goes on.
 */
#define JOB_CLOSED_MS 10000
#define JOB_RESET_MS 60000
#define JOB_BROKEN_MS 300000
void job_absent (struct job *job, int64_t now, struct rank *rank, int ms, int64_t heard);

/* It has a connection again, on which it was told nothing, and this is its status. */
void job_returned (struct job *job, int64_t now, struct rank *rank, const struct status *status);

/* There is no dictionary with a spare in its new place (FACT_PLACES). */
void job_cannot_change (struct job *job, const struct rank *spare);

/*
 * srun has ended. If tasks run as far as is known, it or they have been killed: they are lost. If the others
 * have ended by themselves, and the rest has no connection, that is the end.
 */
void job_cut (struct job *job, int64_t now);

/* To be called after each of these, and at job_due () at the latest; or NEVER. */
void job_time (struct job *job, int64_t now);
int64_t job_due (const struct job *job);

/* What the supervisor of a rank is to do, as things are. */
struct goal job_goal (const struct job *job, const struct rank *rank);

/*
 * True if its supervisor is to be told *goal now, which counts as told then. It has a connection, on which
 * it was told another one, or nothing; one to leave is told if it `may_leave`. *begins: a life begins, and a
 * rank has been replaced, so an answer comes along, with the dictionary as it is now.
 */
bool job_tells (struct job *job, struct rank *rank, bool may_leave, struct goal *goal, bool *begins);

/* True if a rank has been replaced: from then on an answer comes along with each goal that begins a life. */
bool job_has_replaced (const struct job *job);

#endif
