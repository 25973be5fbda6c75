/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "course.h"

#include <signal.h>
#include <string.h>

#include "common/second.h"

/* SIGTERM probably came from the user, and is about to end the other tasks too. */
static bool _has_failed_by_itself (const struct rank *rank)
{
    const struct exit_report *report = &rank->end.report;

    return exit_report_failed (report) && !ends_was_asked (&rank->end)
           && !(report->kind == EXIT_REPORT_SIGNAL && report->number == SIGTERM);
}

static void _tell_failure (struct job *job, enum fact_kind kind, struct rank *rank)
{
    facts_add (&job->facts, kind, rank)->report = rank->end.report;
}

/* With a ps the others can go on, but one that waits for a task which has never come does so forever. */
static void _tell_missed (struct job *job, struct rank *rank)
{
    if (job->miss_told || rank->beside || rank->kind == RULES_EVALUATOR || job->config->restart.times > 0
        || !_has_failed_by_itself (rank))
        return;
    job->miss_told = true;
    _tell_failure (job, FACT_MISSED, rank);
}

/* A task that would end by itself runs, and does not hang. */
static bool _moves (const struct job *job)
{
    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        if (rank_is_watched (rank) && rank->state == RANK_RUNS && !rank_is_hung (rank))
            return true;
    return false;
}

void course_decided (struct job *job, struct rank *rank, const struct exit_report *report,
                     enum restart_policy_decision decision, const char *cannot)
{
    struct restart_policy *policy = restarts_policy (job->restarts);
    struct fact *fact;

    if (job->config->restart.times == 0)
        return;
    fact = facts_add (&job->facts, FACT_DECIDED, rank);
    fact->report = *report;
    fact->decision = decision;
    fact->pause = restart_policy_pause (policy);
    fact->left = restart_policy_left (policy);
    fact->row = restart_policy_row (policy);
    fact->step = restarts_last_step (job->restarts);
    fact->cannot = cannot ? strdup (cannot) : NULL;
    fact->given_up = restarts_gathers (job->restarts, rank);
    fact->unable = rank->restart.together ? restart_policy_unable (policy) : NULL;
    fact->asked_signal = restarts_asked_signal (job->restarts, &fact->asked_at);
    if (decision == RESTART_POLICY_ALL)
        tracebacks_decided (job, rank, report);
}

/* What has been killed since that was told last. */
static void _name_killed (struct job *job, struct fact *fact)
{
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        const struct exit_report *report = &rank->end.report;

        if (!report->killed || rank->end.kill_told)
            continue;
        rank->end.kill_told = true;
        /* With a grace of 0 none is asked to end. */
        if (job->config->stop_grace > 0)
            fact_name (fact, rank, job->tasks);
        if (report->killed_after > fact->seconds)
            fact->seconds = report->killed_after;
    }
}

void course_tell_killed (struct job *job)
{
    _name_killed (job, facts_add (&job->facts, FACT_KILLED, NULL));
}

static bool _all_have_ended (const struct job *job)
{
    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        if (!rank_has_ended (rank))
            return false;
    return true;
}

void course_tell_cut (struct job *job)
{
    struct fact *fact = facts_add (&job->facts, FACT_CUT, NULL);

    ledger_close (job);
    fact->ledger = &job->ledger;
    fact->left = restart_policy_left (restarts_policy (job->restarts));
}

void course_tell_end (struct job *job)
{
    struct fact *fact;

    if (job->end_told || !_all_have_ended (job))
        return;
    job->end_told = true;
    ledger_close (job);
    fact = facts_add (&job->facts, FACT_ENDED, NULL);
    fact->learnt = job->watchdog.learnt;
    fact->ledger = &job->ledger;
    fact->left = restart_policy_left (restarts_policy (job->restarts));
    _name_killed (job, fact);
}

/* The job is over. */

/*
 * How many seconds an evaluator has: eval_grace=, or fail_grace= if that is less and the job has failed
 * (stop_policy_failed ()), because no checkpoint comes for which it could wait.
 */
static int _evaluator_grace (const struct job *job)
{
    const struct rendezvous_config *c = job->config;

    return stop_policy_failed (job->policy) && c->fail_grace < c->eval_grace ? c->fail_grace : c->eval_grace;
}

static void _tell_grace (struct job *job)
{
    struct fact *fact = facts_add (&job->facts, FACT_GRACE, NULL);

    fact->seconds = _evaluator_grace (job);
    fact->failed = stop_policy_failed (job->policy);
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        /* If it has failed, its pause may be too long for it to be restarted. */
        if (fact->seconds > 0 && !rank->overdue
            && stop_policy_order (job->policy, rank) == STOP_POLICY_STOP_AFTER_GRACE
            && (rank->state == RANK_RUNS
                || restart_policy_is_possible (restarts_policy (job->restarts), rank)))
            fact_name (fact, rank, job->tasks);
}

static void _set_over (struct job *job)
{
    struct fact *fact = facts_add (&job->facts, FACT_OVER, NULL);
    const struct rank *rank = stop_policy_cause_rank (job->policy);

    fact->cause = stop_policy_cause (job->policy);
    fact->moves = _moves (job);
    fact->rank = rank ? &job->rank[rank->number] : NULL;
    if (fact->cause == STOP_POLICY_TASK_FAILED)
        job->failure_over = job->run + job->config->fail_grace * SECOND_MS;
    job->grace_over = job->run + _evaluator_grace (job) * SECOND_MS;
    restarts_limit (job->restarts, job->grace_over);
    _tell_grace (job);
}

/* Only what goes on when the job is over is restarted: what has grace, and what serves that. */
static void _end_restarts (const struct job *job)
{
    if (job->config->restart.times == 0)
        return;
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        enum stop_policy_order order = stop_policy_order (job->policy, rank);

        if (order != STOP_POLICY_STOP_AFTER_GRACE && order != STOP_POLICY_STOP_LAST)
            restarts_over (job->restarts, rank);
    }
}

bool course_is_done_with (const struct job *job, const struct rank *rank)
{
    bool grace_over = job->run >= job->grace_over, failure_over = job->run >= job->failure_over;

    switch (stop_policy_order (job->policy, rank)) {
        case STOP_POLICY_LEAVE: return false;
        case STOP_POLICY_STOP: return true;
        case STOP_POLICY_STOP_AFTER_GRACE: return grace_over;
        case STOP_POLICY_STOP_AFTER_FAILURE: return failure_over;
        case STOP_POLICY_STOP_LAST:
            return grace_over && (stop_policy_cause (job->policy) != STOP_POLICY_TASK_FAILED || failure_over);
    }
    return false;
}

bool course_stops (const struct job *job, const struct rank *rank)
{
    return course_is_done_with (job, rank) || restarts_stops (job->restarts, rank);
}

int64_t course_due (const struct job *job)
{
    return moment_first (job->run < job->grace_over ? job->grace_over : NEVER,
                         job->run < job->failure_over ? job->failure_over : NEVER);
}

/* Ranks. */

void course_ended (struct job *job, struct rank *rank, enum rank_input how, const struct exit_report *report)
{
    bool had_ended = rank_has_ended (rank);

    if (!had_ended) {
        rank->end.report = *report;
        /* While the job may need it. Losses have been told. */
        if (how != RANK_IS_LOST && rank->beside && _has_failed_by_itself (rank)
            && !course_is_done_with (job, rank))
            _tell_failure (job, FACT_FAILED_BESIDE, rank);
    }
    rank_change (rank, how);
    if (had_ended)
        return;
    if (stop_policy_ended (job->policy, rank))
        _set_over (job);
    else if (how == RANK_IS_DONE && stop_policy_cause (job->policy) == STOP_POLICY_NOT_OVER
             && !_all_have_ended (job))
        _tell_missed (job, rank);
    if (stop_policy_cause (job->policy) != STOP_POLICY_NOT_OVER)
        _end_restarts (job);
}

void course_hangs (struct job *job, const struct rank *rank)
{
    if (!stop_policy_hangs (job->policy, rank))
        return;
    _set_over (job);
    _end_restarts (job);
}

void course_replaced (struct job *job, struct rank *lost, struct rank *spare)
{
    rank_change (lost, RANK_IS_DONE);
    lost->away = lost->given_up = NEVER;
    lost->replaced_by = spare;
    spare->replaces = lost;
    spare->first_role = spare->role;
    spare->first_index = spare->index;
    spare->placed = job->now;
    spare->role = lost->role;
    spare->index = lost->index;
    spare->kind = lost->kind;
    spare->beside = lost->beside;
    spare->serves = lost->serves;
    spare->needs_master_port = lost->needs_master_port;
    lost->kind = RULES_SPARE;
    job->ledger.idle_ms += job->run - job->launched;
    stop_policy_replaced (job->policy, lost, spare);
}
