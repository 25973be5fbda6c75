/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stop policy: when a job is over, and which tasks are then stopped. It is needed because a ps
 * never ends by itself. Its input is how ranks end, its output what to do with the others; it does
 * not use processes or clocks.
 *
 *     policy   cluster                the job is over when         then are stopped
 *     auto     chief (or master), ps  the chief ends, however;     all others, evaluators
 *                                     or a ps fails                after their grace
 *              ps, no chief           every worker has ended;      all others, evaluators
 *                                     or a ps fails                after their grace
 *              no ps                  all but evaluators ended;    evaluators after their grace
 *                                     or one of them fails         all others after fail_grace,
 *                                                                  evaluators after their grace
 *              only evaluators        they have ended
 *     chief                           the chief (or master, or     all others
 *                                     worker 0) ends
 *     workers                         every worker (and chief or   all others
 *                                     master) has ended
 *     never                                                        none
 *
 * Until then some tasks only serve: a ps, and with a ps the workers of a chief (or master), unless
 * the policy waits for them. Slurm's SIGTERM is withheld from them, because the others may need
 * them to save their work.
 *
 * An auxiliary task (common/beside.h) is waited for by no policy. It serves until the job is
 * over, and no task has grace any more. Its failure changes nothing.
 *
 * A spare (spares.h) is waited for by no policy, and is stopped when the job is over, or when all others have
 * ended: also under never.
 *
 * Without a ps no task can go on without another one: the others wait for it, some of them forever, or
 * fail as soon as they notice. They have fail_grace to end by themselves, and to say why.
 *
 * Under auto a task that hangs (watchdog.h) ends the job in the same way, also with a ps.
 *
 * With a ps, tasks of a site's own roles have the evaluators' grace too. A ps that exits with 0
 * does not end a job, and one that fails does so only under auto. If a cluster has no task for
 * whose end the policy waits, the job is never over.
 */
#ifndef TF_STOP_POLICY_H
#define TF_STOP_POLICY_H

#include <stdbool.h>

#include "common/option_table.h"
#include "rank.h"

struct stop_policy;

/*
 * For a step of `tasks` ranks, one or more, which have their roles and run. They must live as long.
 * NULL if there is no memory.
 */
struct stop_policy *stop_policy_create (enum stop_when when, const struct rank *rank, int tasks);

/* NULL is fine. */
void stop_policy_destroy (struct stop_policy *policy);

/*
 * True if a task of this step may have to be stopped, other than after fail_grace. Call it before any
 * rank has ended.
 */
bool stop_policy_supervises (const struct stop_policy *policy);

/* True if this rank only serves others, until the job is over. */
bool stop_policy_serves (const struct stop_policy *policy, const struct rank *rank);

/*
 * A rank that ran has ended, by itself or because it was stopped: its state and its end say so. One that is
 * lost may return, so only a ps fails by that. True if the job is over because of this, which happens at
 * most once.
 */
bool stop_policy_ended (struct stop_policy *policy, const struct rank *rank);

/*
 * Slurm or the user has asked the step to end: from now on no failure ends the job but a ps's, because the
 * others may be saving their work.
 */
void stop_policy_asked (struct stop_policy *policy);

/* A rank of the cluster hangs, and runs until it is stopped. True if the job is over because of this. */
bool stop_policy_hangs (struct stop_policy *policy, const struct rank *rank);

/* A spare has got the place of a rank, which has ended in its place, or not. The job is not over. */
void stop_policy_replaced (struct stop_policy *policy, const struct rank *lost, const struct rank *spare);

/* Why the job is over. */
enum stop_policy_cause {
    STOP_POLICY_NOT_OVER,
    STOP_POLICY_CHIEF_ENDED,     /* or the master, or worker 0, if there is no chief */
    STOP_POLICY_WORKERS_ENDED,   /* all of them, and the chief or master */
    STOP_POLICY_OTHERS_ENDED,    /* all tasks except the evaluators */
    STOP_POLICY_PS_FAILED,
    STOP_POLICY_TASK_FAILED,     /* without a ps; or it hangs */
};

enum stop_policy_cause stop_policy_cause (const struct stop_policy *policy);

/*
 * True if the job is over and its work is not done: a task failed without which the cluster cannot go on
 * (the chief, a ps or, without a ps, any), or, with a ps and no chief, all workers did. If Slurm or the user
 * has asked the step to end, only a ps counts. A lost chief or ps has failed; another task that is lost may
 * have done its work.
 */
bool stop_policy_failed (const struct stop_policy *policy);

/* True if the job is not over before this rank has ended. */
bool stop_policy_awaits (const struct stop_policy *policy, const struct rank *rank);

/* True if the job is over because this rank has ended, alone or with others. */
bool stop_policy_is_cause (const struct stop_policy *policy, const struct rank *rank);

/*
 * True if it is over because all have ended for which the policy waits, and one of them was stopped, for a
 * restart that was given up.
 */
bool stop_policy_is_undone (const struct stop_policy *policy);

/* The chief that ended, or what failed; otherwise NULL. */
const struct rank *stop_policy_cause_rank (const struct stop_policy *policy);

enum stop_policy_order {
    STOP_POLICY_LEAVE,           /* the job is not over, or this rank has ended */
    STOP_POLICY_STOP,
    STOP_POLICY_STOP_AFTER_GRACE,
    STOP_POLICY_STOP_AFTER_FAILURE,     /* after fail_grace */
    STOP_POLICY_STOP_LAST,       /* when the last rank with either grace has ended or is stopped */
};

/*
 * What to do with a rank now. The order for a rank does not change until the rank
 * ends, except that STOP_LAST becomes STOP.
 */
enum stop_policy_order stop_policy_order (const struct stop_policy *policy, const struct rank *rank);

#endif
