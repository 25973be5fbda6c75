/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What decisions lead to, in their order: facts of which a user or a program is told (rendezvous/narrator.h).
 * Decisions themselves print and send nothing. What supervisors are told is not among them: job_goal ().
 */
#ifndef TF_FACTS_H
#define TF_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/exit_report.h"
#include "protocol/slurm_job.h"

struct rank;
struct ledger;
struct unanswered;

/* What a failure leads to. */
enum decision {
    DECISION_NONE,                      /* it did not fail, or its work is done */
    DECISION_ONE,
    DECISION_ALL,
    /* Nothing is restarted: */
    DECISION_FINAL,                     /* --tf-restart does not cover this failure */
    DECISION_USED_UP,                   /* no restart is left */
    DECISION_CANNOT,                    /* this task, or another of "all", cannot be restarted */
    DECISION_ASKED,                     /* the step was asked to end */
    DECISION_LATE,                      /* its next life would begin too late */
};

/* Why the job is over. */
enum finish_cause {
    FINISH_NOT,
    FINISH_CHIEF, /* or the master, or worker 0 without a chief, ended */
    FINISH_WORKERS, /* all of them, and the chief or master, ended */
    FINISH_OTHERS, /* all tasks except evaluators ended */
    FINISH_PS_FAILED,
    FINISH_TASK_FAILED, /* without a ps; or it hangs */
    FINISH_REFUSED, /* a node has not passed the preflight, and there is no spare for it */
};

/* What --tf-watchdog=auto has learned. */
struct watchdog_learnt {
    int seconds, first;                 /* what it would be as SECONDS,FIRST */
    int64_t slowest_ms;                 /* the longest silence; 0: there were no signs */
};

enum fact_kind {
    /* For the step, and then for the narrator. */
    FACT_PLACES, /* places have changed: a new dictionary; if there is none, `rank` cannot begin */

    /* For the requeuer. */
    FACT_ASKS_SLURM, /* when the job ends: the answer is job_slurm () */

    /* For the narrator. */
    FACT_REPORTED, /* the end of a life of `rank`, which is no spare; `first`: no task has ended */
    FACT_DECIDED, /* what that leads to, if tasks may be restarted: `decision`, in the place of what
                           was decided about the rank before */
    FACT_BEGINS, /* `rank` begins its next life */
    FACT_AGAIN, /* all begin again, `seconds` after the last sign of those that have been replaced; 0: none
                   have */
    FACT_FAILED_BESIDE, /* `rank`, an auxiliary task; the job goes on */
    FACT_MISSED, /* `rank` has failed, and the others may wait for it; once */
    FACT_OVER, /* the job, for this `cause`; `rank` is that of what decided. After a failure without a ps the
                           others have `seconds`. `moves`: a task would end by itself */
    FACT_GRACE, /* the `ranks` have `seconds` to finish, because the job is over, or has `failed` */
    FACT_KILLED, /* the `ranks` did not end within `seconds` when they were stopped */
    FACT_LOST, /* the supervisors of the `ranks` did not come back */
    FACT_UNHEARD, /* the nodes of the `ranks` have been silent for `seconds` */
    FACT_HEARD, /* ... and are heard again */
    FACT_REPLACED, /* the `ranks` have been replaced by spares, `because` */
    FACT_SUSPECT, /* a check of the node of `rank` has found something: rank->check */
    FACT_UNREACHED, /* two good nodes do not reach each other: of `rank`, and of rank->check.unreached */
    FACT_HANG, /* the `ranks` have no activity, the first to be silent first */
    FACT_UNWATCHED, /* no task has activity; the log of `rank`, if that is not NULL, was the last
                       one that grew, `seconds` ago; once */
    FACT_ASKED, /* `rank` was asked to end, by `asked_signal`; `step` as in DECIDED; once */
    FACT_TRACEBACK, /* the log of `rank` ends with a traceback, and it does not end for a minute; or the
                       `ranks` have failed meanwhile */
    FACT_UNANSWERED, /* nodes do not reach each other: `unanswered`; once */
    FACT_HEARTBEAT, /* with notify=, each minute: the highest `step`, said `seconds` ago */
    FACT_NO_REQUEUE, /* the job cannot be requeued at its end: `obstacle_of_job`, or it ends in `seconds` */
    FACT_SAVE, /* the tasks are asked to save, because the job ends in `seconds`; once */
    FACT_REQUEUE, /* ... and all have ended: the job is to be requeued, or not, by `requeue`; once. The
                     nodes of the `ranks`, one of each, are left out of the next run */
    FACT_CUT, /* srun has ended: what ran is lost. The `ranks` were killed as above */
    FACT_ENDED, /* all tasks have ended; once. The `ranks` likewise */
};

enum fact_cause {
    FACT_IS_LOST, /* for `seconds` */
    FACT_IS_STUCK, /* it cannot be restarted where it is */
    FACT_FAILS_AGAIN, /* first, three times without progress */
    FACT_IS_SUSPECT, /* its node has not passed the preflight */
};

/* Why a rank that is lost is not replaced. */
enum fact_obstacle {
    FACT_NO_OBSTACLE, /* or it has no place, or the step has no spares */
    FACT_NO_SPARE,
    FACT_NO_RESTART,
};

/* Does the job go on in another run? */
enum requeue_verdict {
    REQUEUE_NOT_ASKED, /* the tasks were not asked to save */
    REQUEUE_ASKED, /* they were not: Slurm had asked them to end before that */
    /* They were asked to save: */
    REQUEUE_GOES_ON,
    REQUEUE_FAILED, /* the task of `rank` has not saved; with CUT, srun ended first */
    REQUEUE_STUCK, /* the run has reached `step`, the one before `step_before` */
    REQUEUE_SHORT, /* it tells no steps, and lasted only `seconds` */
};

/* One of several ranks, and how it has ended, if that is told. */
struct fact_rank {
    const struct rank *rank;
    struct exit_report report;
};

struct fact {
    enum fact_kind kind;
    int64_t at; /* the moment */
    struct rank *rank;
    struct exit_report report; /* of the rank */
    struct fact_rank *ranks; /* released with the fact */
    int count; /* of the ranks */
    int seconds;
    int left; /* restarts */
    int row, step; /* DECIDED, AGAIN: restarts without progress, and the highest step or 0; HEARTBEAT: it */

    bool first;

    /* DECIDED, and of REPLACED the pause. */
    enum decision decision;
    int pause; /* seconds */
    const struct rank *unable; /* another one, which cannot be restarted, or NULL */
    bool given_up; /* the restart of all tasks is */
    int asked_signal;
    int64_t asked_at;

    enum finish_cause cause;
    bool failed, moves;

    /* LOST */
    enum fact_obstacle obstacle;

    /* REPLACED */
    enum fact_cause because;
    bool joined; /* all were to be restarted already */

    /* HANG */
    bool restarts; /* all, or the only one */
    int others, moving; /* tasks that are inactive as well; tasks that are active */
    int64_t since; /* of the others */

    struct watchdog_learnt learnt; /* HANG, ENDED: with --tf-watchdog=auto */

    const struct unanswered *unanswered;

    int waited; /* ENDED: srun's --wait, after which it has killed the ranks that are `cut`; or 0 */

    /* NO_REQUEUE, REQUEUE, ENDED; ENDED, CUT: of all runs, if there were some before */
    enum slurm_job_obstacle obstacle_of_job;
    enum requeue_verdict requeue;
    int step_before, wanted; /* REQUEUE_SHORT: as many seconds were needed */
    const struct past_runs *runs;

    /* ENDED, CUT: it is complete. AGAIN: what the restart has cost until now, in milliseconds. */
    const struct ledger *ledger;
    int64_t noticing_ms, pausing_ms;
};

/* A zeroed one is empty. */
struct facts {
    struct fact *fact;
    int first, count, room;
    int64_t now; /* the caller's */
    struct fact dropped; /* where one is written for which there is no memory */
};

/* The next one. Its pointer is valid until then. */
struct fact *facts_add (struct facts *facts, enum fact_kind kind, struct rank *rank);

/* One more of its ranks, of at most so many. False if there is no memory. */
bool fact_name (struct fact *fact, const struct rank *rank, int most);

/* Take the first one, to be released with fact_clear (). False if there is none. */
bool facts_take (struct facts *facts, struct fact *fact);
void fact_clear (struct fact *fact);
void facts_clear (struct facts *facts);

#endif
