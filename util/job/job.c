/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "job.h"

#include <signal.h>
#include <stdlib.h>

#include "absence.h"
#include "alone.h"
#include "course.h"
#include "isolation.h"
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

/* Call it when an input has been taken, and with time: connections of what has ended come to no input. */
static void _look_at_suspension (struct job *job)
{
    bool suspended = _is_suspended (job);

    if (suspended && !job->suspended)
        job->suspended_at = job->now;
    if (!suspended && job->suspended)
        absence_resume (job);
    job->suspended = suspended;
}

/* Until then it was as the last input has left it. */
static void _set_time (struct job *job, int64_t now)
{
    job->run += job->suspended ? 0 : now - job->now;
    job->now = job->facts.now = now;
    restarts_time (job->restarts, job->run);
}

void job_launched (struct job *job, int64_t now, int64_t launch_ms)
{
    _set_time (job, now);
    job->launched = now;
    job->watchdog.began = job->run;
    ledger_begin (job, launch_ms);
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        rank->heard = now;
        rank->life.began = job->run;
        rank->away = rank->given_up = rank->unheard = NEVER;
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

/*
 * What becomes of a life that its supervisor has not heard of, because the goal to begin it was lost. While
 * all gather for a later one, or when nothing is restarted any more, it would begin beside others that have,
 * or get, another dictionary.
 */
enum lost_begin {
    BEGIN_AGAIN, /* the goal is told again */
    BEGIN_WITH_ALL, /* all wait for it */
    BEGIN_NEVER,
};

static enum lost_begin _lost_begin (const struct job *job, const struct rank *rank)
{
    if (restarts_gathers (job->restarts, rank))
        return BEGIN_WITH_ALL;
    return rank->restart.over || rank->restart.cannot ? BEGIN_NEVER : BEGIN_AGAIN;
}

/* It has ended an earlier life than that which is to run. */
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
    if (life->address == ADDRESS_UNUSED && alone_has_met (job->rank, job->tasks, &life->peers))
        rank->address_use = ADDRESS_OTHER;
    if (life->asked_signal) {
        stop_policy_asked (job->policy);
        job->failure_over = NEVER;
    }
    /* While it waits, its supervisor reports what is new, and that is not the end of a life. */
    if ((rank->state == RANK_RUNS && !_is_former (rank, life)) || rank->state == RANK_SPARE) {
        ends_note (&rank->end, job->launched, job->now - life->ago_ms, ++job->ends, failure,
                   life->asked_signal);
        rank->end.kill_told = false;
    }
    if (rank->state == RANK_RUNS)
        watchdog_note_end (job, rank, report);
}

/* Another life would be possible if its supervisor, or its node, could begin it. */
static bool _is_stuck (const struct job *job, const struct rank *rank, const struct exit_report *report,
                       const struct life_report *life)
{
    if (life->life >= 0 || life->asked_signal)
        return false;
    return restarts_gathers (job->restarts, rank)
           || (rank->state == RANK_RUNS
               && (report->kind == EXIT_REPORT_UNSTARTED
                   || restart_rule_covers (&job->config->restart, report)));
}

/*
 * What its life had left behind has been stopped; but how the life ended is known, and it ended so, unless
 * its next life was certain, or its work is done. One that had counted as ended, because it was lost, stays
 * so if its work was not done.
 */
static bool _keeps_end (const struct job *job, const struct rank *rank, const struct exit_report *report,
                        const struct life_report *life)
{
    if (report->kind != EXIT_REPORT_STOPPED)
        return false;
    if (rank->undone)
        return true;
    if (restart_rule_covers (&job->config->restart, &rank->end.report))
        return rank_waits (rank) && !course_is_done_with (job, rank);
    return !rank->replaces && (rank_waits (rank) || _is_former (rank, life));
}

/*
 * Its hang has ended the job, and others were stopped for it. But it had just ended, and its supervisor still
 * passed its output on: the step has failed all the same.
 */
static bool _has_hung (const struct job *job, const struct rank *rank, const struct exit_report *report)
{
    return rank_is_hung (rank) && stop_policy_is_cause (job->policy, rank) && !exit_report_failed (report);
}

/* Then it has its life still before it, unless it is to be stopped, and is. */
static bool _is_to_begin (const struct job *job, const struct rank *rank, const struct exit_report *report,
                          const struct life_report *life)
{
    return _is_former (rank, life) && !life->asked_signal && _lost_begin (job, rank) == BEGIN_AGAIN
           && !(report->kind == EXIT_REPORT_STOPPED && job_goal (job, rank).stop == GOAL_STOP);
}

/*
 * What its supervisor is, whatever that leads to. A life that it was told to begin it has not begun then: a
 * supervisor begins none before the rendezvous knows its last report. True if the report is news: a
 * supervisor tells its last one again when something else has changed, and on each connection.
 */
static bool _note_supervisor (struct rank *rank, const struct exit_report *report,
                              const struct life_report *life)
{
    bool is_news = life->number > rank->report;

    rank->said = *report;
    rank->report = life->number;
    if (life->life < 0 || life->life > rank->life.number)
        return is_news;
    rank->has = life->life;
    if (rank->told.life > rank->has)
        rank->told.life = rank->has;
    return is_news;
}

/*
 * It was stopped for the life that is to run now, and cannot begin it: that is a failure, although it has not
 * heard of that life yet.
 */
static bool _cannot_begin (const struct job *job, const struct rank *rank, const struct exit_report *report,
                           const struct life_report *life)
{
    return rank->state == RANK_RUNS && rank->life.number > rank->has && life->life < 0
           && report->kind == EXIT_REPORT_STOPPED && !life->asked_signal
           && job_goal (job, rank).stop == GOAL_RUN;
}

static void _take_report (struct job *job, struct rank *rank, const struct exit_report *report,
                          const struct life_report *life, const struct failure_text *failure)
{
    static const struct exit_report unstarted = { .kind = EXIT_REPORT_UNSTARTED, .number = 1 },
                                    hung = { .kind = EXIT_REPORT_HUNG };
    enum restart_policy_decision decision;
    enum restarts_answer answer;
    struct exit_report end;
    bool keeps;

    /* What becomes of one that was replaced concerns no other task. */
    if (!_note_supervisor (rank, report, life) || rank->replaced_by)
        return;
    if (_cannot_begin (job, rank, report, life))
        report = &unstarted;
    else if (_has_hung (job, rank, report))
        report = &hung;
    absence_note_missing (job);
    _note_report (job, rank, report, life, failure);
    if (exit_report_failed (report))
        ledger_fail (job, rank->end.at);
    if (_is_stuck (job, rank, report, life) && spares_move (job, rank, report, FACT_IS_STUCK, false))
        return;
    if (_is_to_begin (job, rank, report, life))
        return;
    keeps = _keeps_end (job, rank, report, life);
    end = keeps ? rank->end.report : *report;
    answer = restarts_report (job->restarts, rank, report, life, &decision);
    if (rank->state == RANK_SPARE && course_is_done_with (job, rank))
        answer = RESTARTS_ENDED;
    if (decision != RESTART_POLICY_NONE)
        course_decided (job, rank, report, decision, life->cannot);
    if (spares_fails_again (rank) && spares_move (job, rank, report, FACT_FAILS_AGAIN, true)) {
        /* What is still to be said is not true any more. */
        course_decided (job, rank, report, RESTART_POLICY_NONE, NULL);
        return;
    }
    if (answer == RESTARTS_WAITS && keeps)
        rank->end.report = end;
    if (answer == RESTARTS_WAITS)
        return;
    course_ended (job, rank, answer == RESTARTS_KEPT ? RANK_IS_KEPT : RANK_IS_DONE, &end);
}

/* Other inputs. */

static void _take_status (struct job *job, struct rank *rank, const struct status *status)
{
    const struct signs *signs = &status->signs;

    rank->heard = job->now;
    rank->suspended = signs->suspended;
    restarts_step (job->restarts, rank, signs->life, signs->step);
    restarts_started (job->restarts, signs->started_ms);
    unanswered_take (job, rank, signs);
    watchdog_take (job, rank, signs);
    tracebacks_take (job, rank, signs);
    ledger_step (job, rank, signs);
    /* The step that comes with the end counts, too. */
    ledger_look (job);
    if (status->ended)
        _take_report (job, rank, &status->report, &status->life, &status->failure);
    ledger_look (job);
}

void job_status (struct job *job, int64_t now, struct rank *rank, const struct status *status)
{
    _set_time (job, now);
    _take_status (job, rank, status);
    _look_at_suspension (job);
}

void job_absent (struct job *job, int64_t now, struct rank *rank, int ms, int64_t heard)
{
    _set_time (job, now);
    rank->heard = moment_last (rank->heard, heard);
    absence_begin (job, rank, ms);
    _look_at_suspension (job);
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
    /* The last report may have come together with srun's end. */
    course_tell_end (job);
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
    job->decided = NULL;
    facts_add (&job->facts, FACT_BEGINS, rank);
    spares_begin (job);
    rank_change (rank, RANK_BEGINS);
    rank->undone = false;
    rank->traceback = (struct traceback){ .told = false };
}

/*
 * The work is done while this task waits to be restarted: it is stopped, as if it ran. A failure that is
 * final stays one.
 */
static bool _counts_as_stopped (const struct job *job, const struct rank *rank)
{
    enum stop_policy_cause cause = stop_policy_cause (job->policy);

    return course_is_done_with (job, rank) && cause != STOP_POLICY_PS_FAILED
           && cause != STOP_POLICY_TASK_FAILED && !stop_policy_is_undone (job->policy)
           && (restart_rule_covers (&job->config->restart, &rank->end.report)
               || !exit_report_failed (&rank->end.report));
}

static void _release (struct job *job, struct rank *rank)
{
    struct exit_report report = rank->end.report;

    course_decided (job, rank, &report, restarts_why (job->restarts, rank), NULL);
    if (_counts_as_stopped (job, rank))
        report = (struct exit_report){ .kind = EXIT_REPORT_STOPPED };
    course_ended (job, rank, RANK_IS_DONE, &report);
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

/* Its loss has ended the job, or it has not begun the life that it was to begin with all, nor does it now. */
static bool _is_undone (const struct job *job, const struct rank *rank, const struct status *status)
{
    return stop_policy_is_cause (job->policy, rank)
           || (rank->restart.together && status->ended && status->life.life >= 0
               && status->life.life < rank->life.number && _lost_begin (job, rank) != BEGIN_AGAIN);
}

void job_returned (struct job *job, int64_t now, struct rank *rank, const struct status *status)
{
    _set_time (job, now);
    rank->suspended = status->signs.suspended;
    /* It may be the first one after a suspension, which was none of the others' absence. */
    _look_at_suspension (job);
    if (rank->state == RANK_LOST)
        rank->undone = rank->undone || _is_undone (job, rank, status);
    absence_end (job, rank);
    rank->told = (struct goal){ .life = -1 };
    if (!status->ended) {
        rank->has = rank->life.number;
        rank->report = 0;
    }
    _take_status (job, rank, status);
    if (status->ended && rank->state == RANK_RUNS && rank->has < rank->life.number
        && _lost_begin (job, rank) == BEGIN_NEVER)
        _release (job, rank);
}

/* The end of one rank may release others. */
static void _relaunch (struct job *job)
{
    bool more = !job->isolated;

    while (more) {
        restarts_check (job->restarts);
        more = _act (job, restarts_first (job->restarts));
        for (int i = 0; i < job->tasks; i++)
            more |= _act (job, &job->rank[i]);
    }
}

/* Goals. */

/*
 * srun returns the greatest exit code of all tasks. When a task has failed without which the others cannot
 * go on, theirs are not greater than its: what they die of is probably that. But if Slurm has asked them to
 * end, as with srun -K, they end as without the plugin.
 *
 * A spare that has got the place of a lost task, and has not begun, exits with the code of that task's
 * failure: Slurm may hear of it from no other task, because the rest has been stopped.
 */
static int _most_exit_code (const struct job *job, const struct rank *rank)
{
    const struct rank *first = stop_policy_cause_rank (job->policy);

    if (rank->kind == RULES_SPARE)
        return 0;
    if (stop_policy_cause (job->policy) == STOP_POLICY_TASK_FAILED && rank != first
        && !rank->end.asked_signal)
        return exit_report_code (&first->end.report);
    return rank->replaces ? exit_report_code (&rank->end.report) : 0;
}

/* It was let go while it waited, as one that was stopped: it is not yet, and would end with its failure. */
static bool _is_to_be_stopped (const struct job *job, const struct rank *rank)
{
    return job->config->restart.times > 0 && rank->end.report.kind == EXIT_REPORT_STOPPED
           && rank->said.kind != EXIT_REPORT_STOPPED;
}

/* A spare that has a place, and whose host has not been heard since: its goal may not have arrived. */
static bool _may_not_know_its_place (const struct rank *rank)
{
    return rank->replaces && rank->link == LINK_NONE && !rank->told.leave && rank->heard <= rank->placed;
}

/*
 * Its supervisor leaves as one that was not needed, with 0. What is let go meanwhile exits with the code of
 * the place, unless another task has failed.
 */
static int _owed_exit_code (const struct job *job)
{
    int code = 0;

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        int its = exit_report_code (&rank->end.report);

        if (!rank_has_ended (rank) || rank->replaced_by)
            continue;
        if (!_may_not_know_its_place (rank) && its > 0 && rank->state == RANK_ENDED)
            return 0;
        if (_may_not_know_its_place (rank) && its > code && stop_policy_awaits (job->policy, rank))
            code = its;
    }
    return code;
}

/*
 * At least. A supervisor takes the work of what was stopped for done. It is not if the task had counted as
 * ended before, or if it is stopped for a restart, of which it may not hear. Or another one's work is owed.
 */
static int _least_exit_code (const struct job *job, const struct rank *rank, const struct goal *goal)
{
    static const struct exit_report killed = { .kind = EXIT_REPORT_SIGNAL, .number = SIGKILL };
    bool stopped = rank->said.kind == EXIT_REPORT_STOPPED;

    if (goal->leave && (rank->replaced_by || !exit_report_failed (&rank->end.report)))
        return _owed_exit_code (job);
    if (goal->leave)
        return exit_report_failed (&rank->said) ? 0 : exit_report_code (&rank->end.report);
    if (rank->replaced_by || !restarts_gathers (job->restarts, rank)
        || (rank_waits (rank) ? !stopped : goal->stop != GOAL_STOP))
        return 0;
    return stop_policy_awaits (job->policy, rank) ? exit_report_code (&killed) : 0;
}

/* One that waits for its next life has none that is to begin. */
static int _life (const struct job *job, const struct rank *rank)
{
    bool late = rank->told.life < rank->life.number && _lost_begin (job, rank) == BEGIN_WITH_ALL;

    return rank->state == RANK_RUNS && !late ? rank->life.number : rank->has;
}

struct goal job_goal (const struct job *job, const struct rank *rank)
{
    struct goal goal = { .life = _life (job, rank),
                         .report = rank->report,
                         .question = rank->watch.question };

    if (rank->replaced_by)
        goal.stop = GOAL_STOP_AT_ONCE;
    else if (rank_is_hung (rank))
        goal.stop = GOAL_ABORT;
    else if (job->isolated && rank->at_srun && rank->state == RANK_RUNS)
        goal.stop = GOAL_LEASE_OVER;
    else if (rank->state == RANK_ENDED ? _is_to_be_stopped (job, rank) : course_stops (job, rank))
        goal.stop = GOAL_STOP;
    goal.leave = rank->state == RANK_ENDED && rank->report > 0 && goal.stop != GOAL_STOP;
    goal.most = goal.leave && !rank->replaced_by ? _most_exit_code (job, rank) : 0;
    goal.least = _least_exit_code (job, rank, &goal);
    if (goal.most > 0 && goal.least > goal.most)
        goal.least = goal.most;
    return goal;
}

bool job_tells (struct job *job, struct rank *rank, bool may_leave, struct goal *goal, bool *begins)
{
    bool leaves = rank->told.leave && rank->told.report == rank->report;

    *goal = job_goal (job, rank);
    if (rank->link != LINK_UP || leaves || goal_is_same (goal, &rank->told) || (goal->leave && !may_leave))
        return false;
    *begins = goal->life > rank->told.life && goal->life > rank->has && job_has_replaced (job);
    rank->told = *goal;
    return true;
}

static void _look_at_isolation (struct job *job)
{
    job->isolated = isolation_holds (job);
    restart_policy_isolate (restarts_policy (job->restarts), job->isolated);
}

void job_time (struct job *job, int64_t now)
{
    _set_time (job, now);
    _look_at_suspension (job);
    _look_at_isolation (job);
    absence_note_silence (job);
    if (!job->suspended)
        absence_check (job);
    /* Those that are lost are not waited for any more. */
    _look_at_isolation (job);
    watchdog_check (job);
    unanswered_check (job);
    tracebacks_check (job);
    _relaunch (job);
    course_tell_end (job);
    ledger_look (job);
}

int64_t job_due (const struct job *job)
{
    int64_t lives = job->isolated ? NEVER : restarts_due_at (job->restarts);
    int64_t next = job_when (job, moment_first (course_due (job), lives));

    next = moment_first (next, moment_first (watchdog_due (job), job->unanswered.due));
    next = moment_first (next, moment_first (tracebacks_due (job), isolation_due (job)));
    next = moment_first (next, absence_silence_due (job));
    return job->suspended ? next : moment_first (next, absence_due (job));
}
