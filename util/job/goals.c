/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "goals.h"

#include <signal.h>

#include "absence.h"
#include "finish.h"
#include "place.h"
#include "preflight.h"
#include "restarts.h"

/* Exit codes. srun returns the greatest of all tasks. */

/*
 * Nothing is heard of it, and it was not let go: Slurm may not learn its code. Or Slurm learns the code of an
 * earlier life, because it has not heard of the present one. Slurm learns of a supervisor that was killed.
 */
static bool _is_mute (const struct place *p)
{
    const struct rank *rank = p->rank;
    bool may_go_on = rank->absent_ms == JOB_RESET_MS && p->phase == PLACE_BEGINS;

    return rank->link == LINK_NONE && !rank->told.leave && (rank->absent_ms == JOB_BROKEN_MS || may_go_on);
}

/*
 * When a place has failed without which the others cannot go on, their codes are not greater: they probably
 * die of that. But if Slurm has asked them to end, as with srun -K, they end as without the plugin.
 */
static int _code_of (const struct job *job, const struct place *p)
{
    int code = exit_report_code (&p->rank->end.report), first = exit_report_code (&job->finish.report);

    if (job->finish.cause == FINISH_TASK_FAILED && p != job->finish.place && !p->rank->end.asked_signal
        && code > first)
        return first;
    return code;
}

/*
 * srun returns 0 only if every awaited place is done. The code of one that is not, and whose rank may not
 * tell it, is that of all which leave afterwards; unless another failure is told.
 */
int goals_owed_code (const struct job *job)
{
    int owed = 0;

    EACH_PLACE (p, job) {
        int code = _code_of (job, p);

        if (!place_has_ended (p) || code == 0)
            continue;
        if (!_is_mute (p))
            return 0;
        if (p->duty.awaited && code > owed)
            owed = code;
    }
    return owed;
}

static int _code (const struct job *job, const struct rank *rank, const struct goal *goal)
{
    const struct place *p = rank->place;
    int code = p ? _code_of (job, p) : 0;

    if (!goal->leave) {
        /* It is stopped for another life. If it hears of none, its work is not done. */
        bool waits = rank->alive ? goal->stop == GOAL_STOP : !exit_report_failed (&rank->said);

        return p && p->duty.awaited && restarts_gather (job, p) && waits ? EXIT_REPORT_SIGNAL_CODE (SIGKILL)
                                                                         : GOAL_OWN_CODE;
    }
    if (code == 0)
        code = job->owed_code;
    /* Without a life of its own it has no code. */
    return rank->has >= 0 && code == exit_report_code (&rank->said) ? GOAL_OWN_CODE : code;
}

/* Goals. */

static bool _is_over (const struct rank *rank)
{
    return rank->place ? rank->place->phase == PLACE_ENDED : rank->released;
}

/* srun kills the step --wait after the first task has ended. So one without a place ends with the others. */
static bool _is_kept_for_wait (const struct job *job, const struct rank *rank)
{
    return !rank->place && job->config->wait > 0 && !work_is_over (job);
}

/* Its life was to begin, and may not have been told: all begin another one together, or none does. */
static bool _is_withdrawn (const struct job *job, const struct rank *rank)
{
    const struct place *p = rank->place;

    return (restarts_gather (job, p) || job->gather.everyone) && p->phase == PLACE_BEGINS
           && rank->told.life < p->life.number;
}

/* For a restart of all; but one that does not only serve may end by itself before. */
static bool _stops_to_gather (const struct job *job, const struct place *p)
{
    return restarts_gather (job, p)
               ? place_is_alive (p) && (p->duty.serves || job->run >= job->gather.patience)
               : _is_withdrawn (job, p->rank);
}

static bool _stops (const struct job *job, const struct rank *rank)
{
    const struct place *p = rank->place;

    if (_is_over (rank))
        return rank->alive;
    return p && (finish_stops (job, p) || _stops_to_gather (job, p));
}

struct goal job_goal (const struct job *job, const struct rank *rank)
{
    const struct place *p = rank->place;
    bool begins = p && (p->phase == PLACE_RUNS || (p->phase == PLACE_BEGINS && !_is_withdrawn (job, rank)));
    struct goal goal = { .life = begins ? p->life.number : rank->has,
                         .report = rank->report,
                         .question = rank->watch.question,
                         .check = preflight_order (job, rank) };

    if (rank->replaced_by)
        goal.stop = GOAL_STOP_AT_ONCE;
    else if (rank->watch.hung && rank->alive)
        goal.stop = GOAL_ABORT;
    else if (job->isolated && rank->at_srun && begins)
        goal.stop = GOAL_LEASE_OVER;
    else if (_stops (job, rank))
        goal.stop = GOAL_STOP;
    else if (begins && job->requeue.saves != NEVER && !p->duty.serves)
        goal.stop = GOAL_SAVE;
    goal.leave = _is_over (rank) && !rank->alive && !_is_kept_for_wait (job, rank);
    goal.code = _code (job, rank, &goal);
    return goal;
}

bool job_tells (struct job *job, struct rank *rank, bool may_leave, struct goal *goal, bool *begins)
{
    *goal = rank->told;
    if (rank->link != LINK_UP || (rank->told.leave && rank->told.report == rank->report))
        return false;
    *goal = job_goal (job, rank);
    if (goal_is_same (goal, &rank->told) || (goal->leave && !may_leave))
        return false;
    if (goal->leave)
        job->left = moment_first (job->left, job->now);
    *begins = goal->life > rank->told.life && goal->life > rank->has && job->moved;
    rank->told = *goal;
    return true;
}
