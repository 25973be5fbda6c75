/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "job.h"

#include <signal.h>
#include <stdlib.h>

#include "absence.h"
#include "course.h"
#include "spares.h"

struct job *job_create (const struct rendezvous_config *c, struct rank *rank, int tasks)
{
    struct job *job = calloc (1, sizeof (*job));

    if (!job)
        return NULL;
    job->config = c;
    job->rank = rank;
    job->tasks = tasks;
    job->grace_over = job->failure_over = job->replaced_sign = job->unanswered.due = NEVER;
    job->policy = stop_policy_create (c->stop, rank, tasks);
    job->restarts = restarts_create (&c->restart, c->stop_grace, !c->wait_limited, rank, tasks);
    if (job->policy && job->restarts)
        return job;
    job_destroy (job);
    return NULL;
}

void job_destroy (struct job *job)
{
    if (!job)
        return;
    stop_policy_destroy (job->policy);
    restarts_destroy (job->restarts);
    facts_clear (&job->facts);
    free (job);
}

/*
 * By what supervisors that have a connection have told. What one without has told counts if none has one:
 * all of them are stopped, and cannot connect.
 */
static bool _is_suspended (const struct job *job)
{
    bool linked = false, away = false;

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        if (rank->link != LINK_NONE && rank->suspended)
            return true;
        linked = linked || rank->link != LINK_NONE;
        away = away || (rank->away != NEVER && rank->suspended);
    }
    return !linked && away;
}

/* Until then it was as the last input has left it. */
static void _set_time (struct job *job, int64_t now)
{
    bool suspended = _is_suspended (job);

    if (suspended && !job->suspended)
        job->suspended_at = job->now;
    if (!suspended && job->suspended)
        absence_resume (job, job->now - job->suspended_at);
    job->suspended = suspended;
    job->run += suspended ? 0 : now - job->now;
    job->now = job->facts.now = now;
    restarts_time (job->restarts, job->run);
}

void job_launched (struct job *job, int64_t now, int64_t launch_ms)
{
    _set_time (job, now);
    job->launched = now;
    ledger_begin (job, launch_ms);
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        rank->heard = now;
        rank->life.began = job->run;
        rank->away = rank->given_up = NEVER;
        rank->serves = stop_policy_serves (job->policy, rank);
    }
}

bool job_has_replaced (const struct job *job)
{
    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        if (rank->replaced_by)
            return true;
    return false;
}

/* Reports. */

static bool _none_has_ended (const struct job *job)
{
    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        if (rank_has_ended (rank))
            return false;
    return true;
}

/* The order to begin its next life did not arrive. */
static bool _is_former (const struct rank *rank, const struct life_report *life)
{
    return rank->state == RANK_RUNS && life->life >= 0 && life->life < rank->life.number;
}

/* What is known of an end, whatever it leads to. */
static void _note_report (struct job *job, struct rank *rank, const struct exit_report *report,
                          const struct life_report *life, const struct failure_text *failure)
{
    struct fact *fact;

    if (rank->kind != RULES_SPARE) {
        fact = facts_add (&job->facts, FACT_REPORTED, rank);
        fact->report = *report;
        fact->first = _none_has_ended (job);
    }
    rank->address_use = life->address;
    if (life->asked_signal) {
        stop_policy_asked (job->policy);
        job->failure_over = NEVER;
    }
    /* Its supervisor may report an end again while it waits. */
    if ((rank->state == RANK_RUNS && !_is_former (rank, life)) || rank->state == RANK_SPARE)
        ends_note (&rank->end, job->launched, job->now - life->ago_ms, ++job->ends, failure,
                   life->asked_signal);
    if (rank->state == RANK_RUNS)
        watchdog_note_end (job, rank, report);
}

/* Another life would be possible if its supervisor, or its node, could begin it. */
static bool _is_stuck (const struct job *job, const struct rank *rank, const struct exit_report *report,
                       const struct life_report *life)
{
    if (life->life >= 0 || life->asked_signal || job->config->lost_after == 0)
        return false;
    return restarts_gathers (job->restarts, rank)
           || (rank->state == RANK_RUNS
               && (report->kind == EXIT_REPORT_UNSTARTED
                   || restart_rule_covers (&job->config->restart, report)));
}

/*
 * What its life had left behind has been stopped; but how the life ended is known, and its supervisor ends
 * so, unless the next life was certain.
 */
static bool _keeps_end (const struct job *job, const struct rank *rank, const struct exit_report *report,
                        const struct life_report *life)
{
    return report->kind == EXIT_REPORT_STOPPED && !rank->replaces
           && (rank_waits (rank) || _is_former (rank, life))
           && !restart_rule_covers (&job->config->restart, &rank->end.report);
}

/* Its place has been given away. */
static void _let_go (struct job *job, struct rank *rank)
{
    course_order (job, rank, ORDER_STOP);
    course_order (job, rank, ORDER_EXIT);
}

/* srun may end as soon as the last supervisor has left, so what there is to tell comes before that. */
static void _answer_report (struct job *job, struct rank *rank, const struct exit_report *report,
                            enum restarts_answer answer)
{
    bool stopped;

    switch (answer) {
        case RESTARTS_AGAIN: course_order (job, rank, ORDER_RESTART); break;
        case RESTARTS_WAITS: course_order (job, rank, ORDER_WAIT); break;
        case RESTARTS_KEPT:
            course_ended (job, rank, RANK_IS_KEPT, report);
            course_order (job, rank, ORDER_WAIT);
            break;
        case RESTARTS_ENDED:
            stopped = job->config->restart.times > 0 && rank_has_ended (rank)
                      && rank->end.report.kind == EXIT_REPORT_STOPPED;
            course_ended (job, rank, RANK_IS_DONE, report);
            course_tell_end (job);
            /*
             * It was let go while it waited, as one that was stopped, and that order did not arrive. It obeys
             * one that comes after the answer to its report.
             */
            if (stopped && exit_report_failed (report)) {
                course_order (job, rank, ORDER_WAIT);
                course_order (job, rank, ORDER_STOP);
            } else
                course_order (job, rank, ORDER_EXIT);
            break;
    }
}

static void _take_report (struct job *job, struct rank *rank, const struct exit_report *report,
                          const struct life_report *life, const struct failure_text *failure)
{
    enum restart_policy_decision decision;
    enum restarts_answer answer;
    struct exit_report end;

    /* What becomes of it concerns no other task. */
    if (rank->replaced_by) {
        course_order (job, rank, ORDER_EXIT);
        return;
    }
    absence_note_missing (job);
    _note_report (job, rank, report, life, failure);
    if (exit_report_failed (report))
        ledger_fail (job, rank->end.at);
    if (_is_stuck (job, rank, report, life) && spares_move (job, rank, report, FACT_IS_STUCK, false)) {
        _let_go (job, rank);
        return;
    }
    end = _keeps_end (job, rank, report, life) ? rank->end.report : *report;
    answer = restarts_report (job->restarts, rank, report, life, &decision);
    if (rank->state == RANK_SPARE && course_is_done_with (job, rank))
        answer = RESTARTS_ENDED;
    if (decision != RESTART_POLICY_NONE)
        course_decided (job, rank, report, decision, life->cannot);
    if ((decision == RESTART_POLICY_ONE || decision == RESTART_POLICY_ALL) && spares_note_failure (job, rank)
        && spares_move (job, rank, report, FACT_FAILS_AGAIN, true)) {
        /* What is still to be said is not true any more. */
        course_decided (job, rank, report, RESTART_POLICY_NONE, NULL);
        _let_go (job, rank);
        return;
    }
    _answer_report (job, rank, &end, answer);
}

void job_report (struct job *job, int64_t now, struct rank *rank, const struct exit_report *report,
                 const struct life_report *life, const struct failure_text *failure)
{
    _set_time (job, now);
    _take_report (job, rank, report, life, failure);
    ledger_look (job);
}

/* Other inputs. */

void job_signs (struct job *job, int64_t now, struct rank *rank, const struct signs *signs)
{
    _set_time (job, now);
    rank->suspended = signs->suspended;
    restarts_step (job->restarts, rank, signs->life, signs->step);
    restarts_started (job->restarts, signs->started_ms);
    unanswered_take (job, rank, signs);
    watchdog_take (job, rank, signs);
    ledger_step (job, rank, signs);
    ledger_look (job);
}

void job_absent (struct job *job, int64_t now, struct rank *rank, int ms, int64_t heard)
{
    _set_time (job, now);
    rank->heard = heard;
    absence_begin (job, rank, ms);
}

void job_returned (struct job *job, int64_t now, struct rank *rank, bool ended, bool suspended)
{
    _set_time (job, now);
    rank->suspended = suspended;
    absence_end (job, rank);
    rank->heard = now;
    /* If it has ended, it learns so that its own exit code does not count. */
    if (rank->replaced_by)
        course_order (job, rank, ORDER_STOP);
    else if (!ended)
        course_order (job, rank, ORDER_RUN);
}

void job_cannot_change (struct job *job, const struct rank *spare)
{
    restart_policy_cannot (restarts_policy (job->restarts), &job->rank[spare->number]);
}

/* srun has seen the end of every task, and this process of some. */
static bool _is_settled (const struct job *job)
{
    bool any = false;

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        bool ended = rank_has_ended (rank) && rank->state != RANK_LOST;

        if (rank->end.asked_signal || (!rank_has_ended (rank) && rank->away == NEVER))
            return false;
        any = any || (ended && !rank->replaced_by);
    }
    return any;
}

void job_cut (struct job *job, int64_t now)
{
    static const struct failure_text nothing = { .source = FAILURE_TEXT_NONE };
    struct exit_report report = { .kind = EXIT_REPORT_STOPPED };
    bool settled = _is_settled (job);

    _set_time (job, now);
    if (job->end_told)
        return;
    /* Otherwise it has not failed, as far as is known. */
    if (settled)
        report = (struct exit_report){ .kind = EXIT_REPORT_SIGNAL, .number = SIGKILL };
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        if (rank->state != RANK_RUNS && !(settled && !rank_has_ended (rank)))
            continue;
        if (rank->away == NEVER)
            ends_note (&rank->end, job->launched, now, ++job->ends, &nothing, 0);
        rank_change (rank, RANK_IS_LOST);
        rank->end.report = report;
    }
    if (settled)
        course_tell_end (job);
    else
        course_tell_cut (job);
}

/* Time: ranks that wait begin their next life, or are let go. */

static void _begin_again (struct job *job, struct rank *rank)
{
    course_tell_killed (job);
    facts_add (&job->facts, FACT_BEGINS, rank);
    spares_begin (job);
    rank_change (rank, RANK_BEGINS);
    if (rank->link == LINK_NONE && rank->away == NEVER)
        absence_begin (job, rank, JOB_CLOSED_MS);
    course_order (job, rank, ORDER_RESTART);
    /* Until the wire has sent the answer that comes along, nothing else can be. */
    if (rank->link == LINK_UP && job_has_replaced (job))
        rank->link = LINK_BUSY;
}

/*
 * The work is done while this task waits to be restarted: it is stopped, as if it ran. A failure that is
 * final stays one.
 */
static bool _counts_as_stopped (const struct job *job, const struct rank *rank)
{
    enum stop_policy_cause cause = stop_policy_cause (job->policy);

    return course_is_done_with (job, rank) && cause != STOP_POLICY_PS_FAILED
           && cause != STOP_POLICY_TASK_FAILED
           && (restart_rule_covers (&job->config->restart, &rank->end.report)
               || !exit_report_failed (&rank->end.report));
}

static void _release (struct job *job, struct rank *rank)
{
    bool stops = _counts_as_stopped (job, rank);
    struct exit_report report = rank->end.report;

    course_decided (job, rank, &report, restarts_why (job->restarts, rank), NULL);
    if (stops)
        report = (struct exit_report){ .kind = EXIT_REPORT_STOPPED };
    course_ended (job, rank, RANK_IS_DONE, &report);
    course_tell_end (job);
    course_order (job, rank, stops ? ORDER_STOP : ORDER_EXIT);
}

/* False if there is nothing to do. */
static bool _act (struct job *job, struct rank *rank)
{
    switch (restarts_due (job->restarts, rank)) {
        case RESTARTS_NOTHING: return false;
        case RESTARTS_START: _begin_again (job, rank); break;
        case RESTARTS_RELEASE: _release (job, rank); break;
    }
    return true;
}

/* The end of one rank may release others. */
static void _relaunch (struct job *job)
{
    bool more = job->config->restart.times > 0;

    while (more) {
        restarts_check (job->restarts);
        more = _act (job, restarts_first (job->restarts));
        for (int i = 0; i < job->tasks; i++)
            more |= _act (job, &job->rank[i]);
    }
}

enum goal_stop job_goal (const struct job *job, const struct rank *rank)
{
    if (rank_is_hung (rank))
        return GOAL_ABORT;
    return course_is_done_with (job, rank) || restarts_stops (job->restarts, rank) ? GOAL_STOP : GOAL_RUN;
}

void job_time (struct job *job, int64_t now)
{
    _set_time (job, now);
    if (!job->suspended)
        absence_check (job);
    watchdog_check (job);
    unanswered_check (job);
    _relaunch (job);
    course_tell_end (job);
    ledger_look (job);
}

int64_t job_due (const struct job *job)
{
    int64_t next = job_when (job, moment_first (course_due (job), restarts_due_at (job->restarts)));

    next = moment_first (next, moment_first (watchdog_due (job), job->unanswered.due));
    return job->suspended ? next : moment_first (next, absence_due (job));
}
