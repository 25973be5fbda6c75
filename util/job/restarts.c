/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restarts.h"

#include "common/second.h"
#include "finish.h"
#include "ledger.h"
#include "place.h"
#include "preflight.h"
#include "spares.h"
#include "tracebacks.h"

/* Without training steps, a life is progress if it lasts this many times as long as its start. */
#define STARTS 10
#define START_MS 60000
/* If a place fails first this many times without progress, its node may be bad. */
#define MOST_FAILURES 3

/*
 * The budget: at most N restarts in a row without progress, and `total` in all (--tf-restart). A restart is
 * charged once for all that fails until something begins for it, and nothing begins twice for one restart.
 */

/* The last restart that was charged is for this place, too: its life began before that. */
static bool _is_paid (const struct job *job, const struct place *p)
{
    return job->budget.charged && p->life.used < job->budget.used;
}

/* Seconds before what begins for the last restart. */
static int _restart_pause (const struct job *job)
{
    return restart_rule_pause (&job->config->restart, job->budget.row);
}

static void _charge (struct job *job, struct place *p)
{
    struct budget *b = &job->budget;

    if (!_is_paid (job, p)) {
        b->used++;
        b->row++;
    }
    b->charged = true;
}

static void _note_progress (struct job *job)
{
    int goes_on = job->budget.charged;

    if (job->budget.row > goes_on)
        job->budget.row = goes_on;
    EACH_PLACE (p, job) {
        p->life.again = false;
        p->rank->failures = 0;
    }
}

void restarts_step (struct job *job, struct place *p, int step)
{
    int highest = p->duty.alone ? p->life.step : job->budget.step;

    if (step > highest && p->life.again)
        _note_progress (job);
    if (step > p->life.step)
        p->life.step = step;
    /* An evaluator counts its own. */
    if (step > job->budget.step && p->duty.works) {
        job->budget.step = step;
        job->budget.step_at = job->run;
    }
}

/* Ten times as long as they start. */
int64_t restarts_lasting_ms (const struct job *job)
{
    int64_t start = job->budget.start_ms ? job->budget.start_ms : START_MS;

    return moment_last (STARTS * start, START_MS);
}

void restarts_time (struct job *job)
{
    int64_t wanted = restarts_lasting_ms (job);
    bool lasts = false, sends = false;

    if (job->budget.row == 0 || job->phase == JOB_GATHERS)
        return;
    EACH_PLACE (p, job)
        if (p->life.again && place_runs (p)) {
            lasts = lasts || job->run - p->life.began >= wanted;
            sends = sends || p->life.step > 0;
        }
    if (lasts && !sends)
        _note_progress (job);
}

/* What is known at a moment. */

bool restarts_gather (const struct job *job, const struct place *p)
{
    return job->phase == JOB_GATHERS && (p->duty.member || job->gather.everyone);
}

/* What is known of all members. */
struct members {
    struct place *final; /* the first one that has no other life; or NULL */
    struct place *unable; /* the first one without which the others cannot begin again; or NULL */
    int going; /* so many run, or wait for a life */
    int gone; /* so many have no rank that could begin their next life */
};

/* A member that is lost; or that ended with 0, and is lost when all begin again, as there are no spares. */
static bool _is_gone (const struct job *job, const struct place *p)
{
    return p->rank->lost || (job->run >= p->rank->away && job->config->lost_after == 0);
}

static struct members _members (const struct job *job)
{
    struct members all = { NULL, NULL, 0, 0 };
    bool left = false;

    EACH_PLACE (p, job) {
        if (!p->duty.member)
            continue;
        left = left || p->phase < PLACE_KEPT;
        all.going += !place_has_ended (p);
        if (!all.final && (p->future != PLACE_MAY_BEGIN || p->phase == PLACE_ENDED))
            all.final = p;
        if (!all.unable && _is_gone (job, p))
            all.unable = p;
        all.gone += _is_gone (job, p);
    }
    if (all.final || !left)
        all.unable = left ? all.final : NULL;
    return all;
}

/* Its next life can begin; its rank is not lost. */
static bool _is_possible (const struct place *p, const struct members *all)
{
    return p->future == PLACE_MAY_BEGIN && (p->duty.alone || !all->unable);
}

/* A member that ended with 0 is needed as long as another one may fail. */
static bool _is_needed (const struct job *job, const struct place *p, const struct members *all)
{
    int others = all->going - !place_has_ended (p);

    return job->config->restart.times > 0 && p->duty.member && others > 0 && !all->final;
}

/* What is told. */

static enum decision _decision_of (enum place_future future)
{
    return future == PLACE_CANNOT  ? DECISION_CANNOT
           : future == PLACE_LATE  ? DECISION_LATE
           : future == PLACE_ASKED ? DECISION_ASKED
                                   : DECISION_NONE;
}

void restarts_tell (struct job *job, struct place *p, enum decision decision)
{
    const struct exit_report *report = &p->rank->end.report;
    struct place *unable = NULL;
    struct fact *fact;

    if (job->config->restart.times == 0)
        return;
    /* It died of what asked it to end, or its next life is in the job's next run. */
    if (decision == DECISION_ASKED
        && ((report->kind == EXIT_REPORT_SIGNAL && report->number == p->rank->end.asked_signal)
            || job->requeue.saves != NEVER))
        decision = DECISION_NONE;
    if (decision == DECISION_CANNOT && p->duty.member)
        unable = _members (job).unable;
    /* What has given up the restart of all was told. */
    if (unable == p && !p->rank->cannot && !p->rank->lost)
        decision = DECISION_NONE;
    fact = facts_add (&job->facts, FACT_DECIDED, p->rank);
    fact->report = *report;
    fact->decision = decision;
    fact->pause = _restart_pause (job);
    fact->left = budget_left (job);
    fact->row = job->budget.row;
    fact->step = job->budget.step;
    fact->given_up = p->duty.member && restarts_gather (job, p);
    fact->unable = unable ? unable->rank : NULL;
    fact->asked_signal = job->asked_signal;
    fact->asked_at = job->asked_at;
    if (decision != DECISION_ALL)
        return;
    job->gather.decided = true;
    tracebacks_tell_first (job, p->rank);
}

/* Waiting. */

static void _wait (const struct job *job, struct place *p)
{
    const struct exit_report *report = &p->rank->end.report;

    /* After a failure that the rule covers, its supervisor has killed what was left. */
    p->rank->leaves =
        report->kind != EXIT_REPORT_STOPPED && !restart_rule_covers (&job->config->restart, report);
    p->life.due = NEVER;
    p->phase = PLACE_WAITS;
}

/* PreemptionCheckpointHandler saves in all tasks together: after that the others may end by themselves. */
static void _gather (struct job *job, struct rank *first)
{
    const struct place *p = rank_last_place (first);
    bool saved = restart_rule_saved (&p->rank->end.report);
    struct gather *g = &job->gather;
    struct members all = _members (job);

    job->phase = JOB_GATHERS;
    g->decided = false;
    g->first = first;
    g->pause = _restart_pause (job);
    g->patience = job->run + (saved ? job->config->stop_grace * SECOND_MS : 0);
    g->opens = job->run + g->pause * SECOND_MS - p->life.ago_ms;
    EACH_PLACE (kept, job)
        if (kept->phase == PLACE_KEPT && _is_needed (job, kept, &all))
            _wait (job, kept);
}

/* Decisions. */

static enum decision _judge_failure (const struct job *job, const struct place *p)
{
    const struct exit_report *report = &p->rank->end.report;
    bool unable;

    if (!exit_report_failed (report))
        return DECISION_NONE;
    if (p->future >= PLACE_ASKED)
        return _decision_of (p->future);
    /* A program that was not started has no exit code of its own. */
    if (!restart_rule_covers (&job->config->restart, report)
        && !(p->future == PLACE_CANNOT && report->kind == EXIT_REPORT_UNSTARTED))
        return DECISION_FINAL;
    if (p->future != PLACE_MAY_BEGIN)
        return _decision_of (p->future);
    if (budget_left (job) == 0 && !_is_paid (job, p))
        return DECISION_USED_UP;
    unable = _members (job).unable;
    if (!p->duty.alone && unable)
        return DECISION_CANNOT;
    /* The others of the cluster may hang because of it, or it because of them. */
    if (p->duty.member && !unable && (report->kind == EXIT_REPORT_HUNG || job->isolated))
        return DECISION_ALL;
    return p->duty.alone ? DECISION_ONE : DECISION_ALL;
}

enum decision restarts_hang (struct job *job, struct place *p)
{
    enum decision decision;

    p->rank->end.report = (struct exit_report){ .kind = EXIT_REPORT_HUNG };
    decision = _judge_failure (job, p);
    if (decision != DECISION_ALL)
        return decision;
    p->life.ago_ms = 0;
    _charge (job, p);
    _gather (job, p->rank);
    return decision;
}

/* Spares. */

/* All begin again for it, so there has to be a spare for each of those that are lost. */
static bool _can_move (const struct job *job, const struct place *p)
{
    bool paid = job->phase == JOB_GATHERS || _is_paid (job, p) || budget_left (job) > 0;
    struct members all;

    if (job->phase == JOB_FINISHES || p->phase == PLACE_KEPT || p->future > PLACE_CANNOT || !paid)
        return false;
    all = _members (job);
    return (!all.unable || all.unable == p) && all.gone <= spares_free (job);
}

/* A spare gets a place, and all gather: each has the addresses of others. */
static void _move_place (struct job *job, struct place *p, struct rank *spare)
{
    struct rank *lost = p->rank;

    if (lost->away != NEVER) {
        job->replaced_sign = moment_first (job->replaced_sign, lost->heard);
        ledger_fail (job, job->now - lost->heard);
    }
    spares_place (job, p, spare);
    p->rank->end.report = report_killed;
    p->phase = PLACE_WAITS;
    p->future = PLACE_MAY_BEGIN;
    p->life.ago_ms = 0;
    job->gather.everyone = true;
    if (job->phase != JOB_GATHERS) {
        _charge (job, p);
        _gather (job, lost);
    }
}

/* Give its place to a spare, if that can be. All that get one together share a fact, which is NULL before. */
static bool _replace (struct job *job, struct place *p, enum fact_cause because, struct fact **fact)
{
    struct rank *lost = p->rank, *spare = _can_move (job, p) ? spares_choose (job, lost) : NULL;

    if (!spare || (because == FACT_IS_SUSPECT && !spare->vetted))
        return false;
    if (!*fact) {
        *fact = facts_add (&job->facts, FACT_REPLACED, NULL);
        (*fact)->because = because;
        (*fact)->joined = job->phase == JOB_GATHERS;
    }
    _move_place (job, p, spare);
    lost->because = because;
    if (fact_name (*fact, lost, job->tasks))
        (*fact)->ranks[(*fact)->count - 1].report = lost->end.report;
    return true;
}

static void _tell_moves (struct job *job, struct fact *fact)
{
    if (!fact || !fact->ranks)
        return;
    fact->pause = _restart_pause (job);
    fact->left = budget_left (job);
    /* A node has failed: are the others good? */
    if (fact->because != FACT_IS_SUSPECT)
        job->preflight.wanted = job->config->preflight.items != 0;
    facts_add (&job->facts, FACT_PLACES, fact->ranks[0].rank->replaced_by);
}

/* The rank of this place is connected, but cannot or should not keep the place. */
static bool _replace_one (struct job *job, struct place *p, enum fact_cause because)
{
    struct fact *fact = NULL;
    bool replaced = _replace (job, p, because, &fact);

    _tell_moves (job, fact);
    return replaced;
}

/* The first replacement makes all gather, and one that had ended with 0 is needed then. */
void restarts_replace_silent (struct job *job)
{
    struct fact *fact = NULL;
    bool more = !job->isolated && !job->suspended;

    while (more) {
        more = false;
        EACH_PLACE (p, job)
            if (p->phase != PLACE_ENDED && job->run >= p->rank->given_up)
                more = _replace (job, p, FACT_IS_LOST, &fact) || more;
    }
    if (fact && fact->ranks)
        fact->seconds = (int)((job->now - fact->ranks[0].rank->heard + SECOND_MS / 2) / SECOND_MS);
    _tell_moves (job, fact);
}

/* The preflight. */

/* Its first life is to begin with all others, as after a failure of all, for which no restart is used. */
void restarts_await_preflight (struct job *job)
{
    job->phase = JOB_GATHERS;
    job->gather = (struct gather){ .everyone = true, .opens = job->run };
    job->preflight.wanted = true;
    EACH_PLACE (p, job) {
        p->phase = PLACE_WAITS;
        p->life.number = -1;
        p->rank->end.report = report_unstarted;
    }
}

/* False if there are not enough spares. All begin, and so nothing is charged. */
static bool _replace_suspects (struct job *job)
{
    struct fact *fact = NULL;
    bool all = true;

    EACH_PLACE (p, job)
        if (p->rank->suspect && place_waits (p))
            all = _replace (job, p, FACT_IS_SUSPECT, &fact) && all;
    _tell_moves (job, fact);
    return all;
}

/* False as long as all that gather wait for it, or if the step has been refused. */
static bool _passes_preflight (struct job *job)
{
    if (!job->preflight.wanted)
        return true;
    if (!preflight_is_over (job))
        return false;
    if (!_replace_suspects (job) && !job->config->preflight.warn) {
        finish_refuse (job);
        return false;
    }
    /* The others go on without what is lost, and has not been checked. */
    EACH_PLACE (p, job)
        if (p->rank->lost && !p->rank->vetted)
            place_forbid (p, PLACE_CANNOT);
    return true;
}

/* A lost connection follows from another exception. */
static bool _fails_before (const struct rank *a, const struct rank *b)
{
    bool lost = traceback_is_of_connection (a);

    if (lost != traceback_is_of_connection (b) && traceback_has_ended (lost ? b : a))
        return !lost;
    return traceback_is_earlier (a, b);
}

/* With the failure for which all gather. */
bool restarts_fail_again (const struct job *job, const struct rank *rank)
{
    return rank->failures + (job->phase == JOB_GATHERS && job->gather.first == rank) >= MOST_FAILURES;
}

/*
 * How the others ended does not matter: they may have failed because of it. For evaluators and auxiliary
 * tasks another node is not worth the restart of those that train.
 */
static void _leave_bad_node (struct job *job, struct place *p)
{
    struct rank *failed = p->rank;

    /* What is still to be said of it is not true any more. */
    if (restarts_fail_again (job, failed) && !place_is_apart (p) && _replace_one (job, p, FACT_FAILS_AGAIN))
        facts_add (&job->facts, FACT_DECIDED, failed)->decision = DECISION_NONE;
}

/* No spare has its place: it ends. */
static void _give_up (struct job *job, struct place *p)
{
    /* Of those that gather one has said why nothing begins again. */
    if (p->duty.alone || !restarts_gather (job, p) || !_members (job).unable)
        restarts_tell (job, p, DECISION_CANNOT);
    place_forbid (p, PLACE_CANNOT);
}

/* Those whose rank is connected, and can begin no other life, or should not. */
static void _leave_ranks (struct job *job)
{
    EACH_PLACE (p, job)
        if (!place_waits (p))
            continue;
        else if (!p->rank->cannot || p->future != PLACE_MAY_BEGIN)
            _leave_bad_node (job, p);
        else if (!_replace_one (job, p, FACT_IS_STUCK))
            _give_up (job, p);
}

/* Ends. */

/* A place fails, and is to begin again. */
static void _restart (struct job *job, struct place *p, enum decision decision)
{
    bool counts = !_is_paid (job, p);

    _charge (job, p);
    _wait (job, p);
    p->rank->failures += decision == DECISION_ONE && counts;
    if (decision == DECISION_ALL)
        _gather (job, p->rank);
    else
        p->life.due = job->run + _restart_pause (job) * SECOND_MS - p->life.ago_ms;
    restarts_tell (job, p, decision);
}

static void _decide (struct job *job, struct place *p)
{
    int pause = restart_rule_pause (&job->config->restart, job->budget.row + 1);
    enum decision decision;
    struct members all;
    bool keeps;

    /* When the job is over, only what begins within the grace of evaluators does. */
    if (job->run + pause * SECOND_MS > job->finish.grace_over)
        place_forbid (p, PLACE_LATE);
    decision = _judge_failure (job, p);
    if (decision == DECISION_ONE || decision == DECISION_ALL) {
        _restart (job, p, decision);
        return;
    }
    if (decision != DECISION_NONE)
        restarts_tell (job, p, decision);
    all = _members (job);
    keeps = report_is_success (&p->rank->end.report) && job->config->wait == 0 && _is_needed (job, p, &all);
    finish_end (job, p, keeps ? PLACE_KEPT : PLACE_ENDED, false);
}

/* All begin again, and it is in. */
static void _join (struct job *job, struct place *p)
{
    job->gather.opens =
        moment_last (job->gather.opens, job->run + job->gather.pause * SECOND_MS - p->life.ago_ms);
    _wait (job, p);
    /* Reports do not arrive in the order of the ends. */
    if (exit_report_failed (&p->rank->end.report) && _fails_before (p->rank, job->gather.first))
        job->gather.first = p->rank;
}

void restarts_end (struct job *job, struct place *p)
{
    const struct exit_report *report = &p->rank->end.report;
    bool again = restart_rule_covers (&job->config->restart, report) || report->kind == EXIT_REPORT_UNSTARTED;

    if (restarts_gather (job, p))
        _join (job, p);
    else if (p->rank->cannot && again && !job->asked_signal)
        _wait (job, p); /* for a spare, or to end: _leave_ranks () */
    else {
        if (p->rank->cannot)
            place_forbid (p, PLACE_CANNOT);
        _decide (job, p);
    }
}

void restarts_ask (struct job *job, int signal, int64_t at)
{
    job->finish.failure_over = NEVER;
    EACH_PLACE (p, job) {
        place_forbid (p, job->requeue.saves != NEVER && place_waits (p) ? PLACE_IN_NEXT_RUN : PLACE_ASKED);
        /* Nodes are checked, and its program has not begun; before a requeue it need not. */
        if (place_waits (p) && p->life.number < 0 && job->requeue.saves == NEVER) {
            finish_note_end (job, p->rank, job->now, NULL, signal);
            p->rank->end.report = (struct exit_report){ .kind = EXIT_REPORT_SIGNAL, .number = signal };
        }
    }
    if (!job->asked_signal) {
        job->asked_signal = signal;
        job->asked_at = at;
    }
}

/* Time. */

static void _begin_life (struct job *job, struct place *p)
{
    p->life.number++;
    p->life.began = job->run;
    p->life.used = job->budget.used;
    p->life.again = p->life.number > 0;
    p->phase = PLACE_BEGINS;
    if (p->life.number == 0)
        job->watchdog.began = job->run;
    p->rank->traceback = (struct traceback){ .told = false };
    job->budget.charged = job->phase == JOB_GATHERS;
    facts_add (&job->facts, FACT_BEGINS, p->rank);
    ledger_tell_again (job);
}

/* The job is over, and no place that it awaited was stopped. */
static bool _is_work_done (const struct job *job)
{
    EACH_PLACE (p, job)
        if (p->duty.awaited && p->rank->end.report.kind == EXIT_REPORT_STOPPED)
            return false;
    return !finish_failed (job);
}

/* Its next life does not come. If the work is done, it counts as stopped. */
static void _release (struct job *job, struct place *p)
{
    bool failed = exit_report_failed (&p->rank->end.report);
    bool done = finish_stops (job, p) && _is_work_done (job) && !p->rank->end.asked_signal;

    restarts_tell (job, p, failed && p->future > PLACE_CANNOT ? _decision_of (p->future) : DECISION_NONE);
    if (done)
        p->rank->end.report = report_stopped;
    /* It has never begun. */
    if (p->rank->end.nth == 0)
        finish_note_end (job, p->rank, job->now, NULL, 0);
    finish_end (job, p, PLACE_ENDED, false);
}

void restarts_withdraw (struct job *job, struct place *p, const struct exit_report *report)
{
    if (restarts_gather (job, p)) {
        p->rank->end.report = *report;
        _wait (job, p);
    } else if (p->future != PLACE_MAY_BEGIN || finish_stops (job, p))
        _release (job, p);
}

/*
 * All have gathered; or that was given up, and then no life may begin beside others in former ones. Nor does
 * that of the first to fail, or its job might succeed without those that were stopped for it.
 */
static void _end_gathering (struct job *job, bool given_up)
{
    if (given_up && job->gather.first)
        place_forbid (rank_last_place (job->gather.first), PLACE_CANNOT);
    EACH_PLACE (p, job) {
        if (given_up && ((p->phase == PLACE_WAITS && p->duty.member) || job->gather.everyone))
            place_forbid (p, PLACE_CANNOT);
        if (p->phase == PLACE_WAITS && restarts_gather (job, p))
            p->life.due = job->run;
    }
    if (given_up)
        job->ledger.untold = false;
    if (job->gather.first)
        job->gather.first->failures++;
    job->phase = JOB_RUNS;
    job->gather.everyone = job->gather.everyone && given_up;
    job->budget.charged = false;
}

static void _look_at_gathering (struct job *job)
{
    bool complete = true;

    if (job->phase != JOB_GATHERS)
        return;
    if (_members (job).unable || job->asked_signal) {
        _end_gathering (job, true);
        return;
    }
    EACH_PLACE (p, job)
        if (restarts_gather (job, p) && (place_is_alive (p) || (place_waits (p) && p->rank->away != NEVER)))
            complete = false;
    if (!complete || job->run < job->gather.opens || !_passes_preflight (job))
        return;
    _end_gathering (job, false);
    finish_name_killed (job, facts_add (&job->facts, FACT_KILLED, NULL));
}

static void _act (struct job *job, struct place *p, const struct members *all)
{
    bool waits = place_waits (p) && !restarts_gather (job, p);

    if (p->phase == PLACE_KEPT ? !_is_needed (job, p, all) : waits && !_is_possible (p, all))
        _release (job, p);
    else if (waits && job->run >= p->life.due)
        _begin_life (job, p);
}

void restarts_act (struct job *job)
{
    struct members all;

    if (job->isolated)
        return;
    _leave_ranks (job);
    _look_at_gathering (job);
    all = _members (job);
    /* Its end explains the others'. */
    if (job->gather.first)
        _act (job, rank_last_place (job->gather.first), &all);
    EACH_PLACE (p, job)
        _act (job, p, &all);
}

int64_t restarts_due (const struct job *job)
{
    const struct gather *g = &job->gather;
    int64_t next = NEVER;

    if (job->isolated)
        return NEVER;
    if (job->phase == JOB_GATHERS) {
        next = moment_first (moment_ahead (g->patience, job->run), moment_ahead (g->opens, job->run));
        next = moment_first (next, moment_ahead (job->preflight.until, job->run));
    }
    EACH_PLACE (p, job)
        if (place_waits (p) && !restarts_gather (job, p))
            next = moment_first (next, p->life.due);
    return next;
}
