/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restarts.h"

#include <signal.h>
#include <stdlib.h>

#include "common/second.h"
#include "rank.h"

/* Failures that arrive so soon after the first one are one event. */
#define EVENT_MS 2000
/* A life without messages is progress after so many starts. One that was not seen takes so long. */
#define STARTS 10
#define START_MS 60000
#define PROGRESS_MIN_MS 60000

struct restarts {
    struct restart_policy *policy;
    int grace;                  /* seconds */
    bool keeps;
    int event;                  /* the last one, from 1 */
    int64_t event_over;
    bool event_started;         /* a member has been restarted for it; */
    bool event_begun;           /* or any other task */
    int asked_signal;           /* to end; 0: the step was not */
    int64_t asked_at;
    bool gathers;               /* members at the barrier; */
    bool everyone;              /* all tasks of the step are members, because a spare has got a place */
    int pause;                  /* seconds, before they start */
    struct rank *first;         /* of those that gathered last, to fail; before, any */
    int64_t patience;   /* until then they may end by themselves */
    int64_t opens;      /* the barrier; never before all members are there */
    int64_t over;       /* the pause, after the last end, or return, of a member until now */
    int64_t last;       /* no life begins later */
    int64_t now;
    int step, start_ms; /* what has been said, and seen; 0: not yet */
    struct rank *rank;
    int tasks;
};

struct restarts *restarts_create (const struct restart_rule *rule, int grace, bool keeps, struct rank *rank,
                                  int tasks)
{
    struct restarts *r = calloc (1, sizeof (*r));

    if (!r)
        return NULL;
    r->grace = grace;
    r->keeps = keeps;
    r->event_over = r->patience = r->opens = r->last = NEVER;
    r->first = r->rank = rank;
    r->tasks = tasks;
    if ((r->policy = restart_policy_create (rule, rank, tasks)))
        return r;
    restarts_destroy (r);
    return NULL;
}

void restarts_destroy (struct restarts *r)
{
    if (r)
        restart_policy_destroy (r->policy);
    free (r);
}

struct restart_policy *restarts_policy (const struct restarts *r)
{
    return r->policy;
}

/* Progress. */

static void _end_event (struct restarts *r)
{
    restart_policy_event_over (r->policy);
    r->event_over = NEVER;
}

/* What fails after it is another event, which counts. */
static void _note_progress (struct restarts *r)
{
    if (!r->gathers)
        _end_event (r);
    restart_policy_progress (r->policy, r->gathers);
    for (int i = 0; i < r->tasks; i++) {
        r->rank[i].life.again = false;
        r->rank[i].life.failures = 0;
    }
}

/* Programs that do not say at which step they are. */
static void _note_long_life (struct restarts *r)
{
    int64_t wanted = moment_last (STARTS * (int64_t)(r->start_ms ? r->start_ms : START_MS), PROGRESS_MIN_MS);
    bool lasts = false, says = false;

    for (const struct rank *rank = r->rank; rank < r->rank + r->tasks; rank++)
        if (rank->life.again && rank->state == RANK_RUNS) {
            lasts = lasts || r->now - rank->life.began >= wanted;
            says = says || rank->life.sends;
        }
    if (lasts && !says)
        _note_progress (r);
}

void restarts_time (struct restarts *r, int64_t now)
{
    r->now = now;
    if (restart_policy_row (r->policy) > 0 && !r->gathers)
        _note_long_life (r);
}

void restarts_step (struct restarts *r, struct rank *rank, int life, int step)
{
    int highest = rank->restart.alone ? rank->life.step : r->step;

    if (step == 0)
        return;
    rank->life.sends = true;
    if (step > highest && rank->life.again && life == rank->life.number)
        _note_progress (r);
    if (step > rank->life.step)
        rank->life.step = step;
    /* An evaluator counts its own. */
    if (step > r->step && rank_is_watched (rank))
        r->step = step;
}

void restarts_started (struct restarts *r, int ms)
{
    if (ms > r->start_ms)
        r->start_ms = ms;
}

int restarts_last_step (const struct restarts *r)
{
    return r->step;
}

static int64_t _in_seconds (const struct restarts *r, int seconds)
{
    return r->now + seconds * SECOND_MS;
}

/* This many seconds after the end of its life, which is reported now. */
static int64_t _after_end (const struct restarts *r, const struct rank *rank, int seconds)
{
    return _in_seconds (r, seconds) - rank->life.ago_ms;
}

static bool _is_too_late (const struct restarts *r, int64_t due)
{
    return due > r->last;
}

bool restarts_are_gathering (const struct restarts *r)
{
    return r->gathers;
}

static bool _is_member (const struct restarts *r, const struct rank *rank)
{
    return rank->restart.together || (r->everyone && rank->kind != RULES_SPARE);
}

bool restarts_gathers (const struct restarts *r, const struct rank *rank)
{
    return r->gathers && _is_member (r, rank);
}

/* Reports. */

static bool _succeeded (const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_EXIT && report->number == 0;
}

static void _set_waiting (const struct restarts *r, struct rank *rank, const struct exit_report *report)
{
    /* After a failure that the rule covers, its supervisor has killed that. */
    rank->life.leaves =
        report->kind != EXIT_REPORT_STOPPED && !restart_rule_covers (restart_policy_rule (r->policy), report);
    rank->life.due = NEVER;
    if (!rank_has_ended (rank))
        rank->end.report = *report;
    rank_change (rank, RANK_IS_TO_WAIT);
}

/* How many members run, or wait. */
static int _busy (const struct restarts *r)
{
    int busy = 0;

    for (const struct rank *rank = r->rank; rank < r->rank + r->tasks; rank++)
        busy += rank->restart.together && (rank->state == RANK_RUNS || rank_waits (rank));
    return busy;
}

/* What could make it begin again has ended. */
static bool _waits_in_vain (const struct restarts *r, const struct rank *rank)
{
    if (rank->state == RANK_KEPT)
        return !restart_policy_keeps (r->policy, rank) || _busy (r) == 0;
    return rank_waits (rank) && !restarts_gathers (r, rank) && !restart_policy_is_possible (r->policy, rank);
}

/*
 * PreemptionCheckpointHandler saves in all tasks together, and each exits when it is ready. A SIGTERM
 * meanwhile would kill the helper processes of a task that is still writing; and if the first task has
 * taken the coordination service with it, TensorFlow's handler raises an exception in the middle of
 * the checkpoint. So the others may end by themselves for a while. Tasks that fail otherwise
 * leave others that hang, or fail: these are stopped at once.
 */
static void _begin_gathering (struct restarts *r, struct rank *rank, const struct exit_report *report)
{
    r->gathers = true;
    r->first = rank;
    r->pause = restart_policy_pause (r->policy);
    r->patience = _in_seconds (r, restart_rule_saved (report) ? r->grace : 0);
    r->opens = NEVER;
    r->over = _after_end (r, rank, r->pause);
    for (int i = 0; i < r->tasks; i++)
        if (r->rank[i].state == RANK_KEPT && !_waits_in_vain (r, &r->rank[i]))
            _set_waiting (r, &r->rank[i], &r->rank[i].end.report);
}

/* A task that has ended with 0 stays if it may be needed, and if another one can still fail. */
static bool _is_kept (const struct restarts *r, const struct rank *rank, const struct exit_report *report)
{
    return _succeeded (report) && restart_policy_keeps (r->policy, rank) && _busy (r) > 1;
}

/* A failure that is worth a restart. The pause begins again for all tasks of its event. */
static void _set_event (struct restarts *r, struct rank *rank, bool begins)
{
    int64_t due = _after_end (r, rank, restart_policy_pause (r->policy));

    if (begins) {
        r->event++;
        r->event_over = r->now + EVENT_MS;
        r->event_started = r->event_begun = false;
        rank->life.failures++;
    }
    rank->life.event = r->event;
    for (int i = 0; i < r->tasks; i++)
        if (rank_waits (&r->rank[i]) && r->rank[i].life.event == r->event)
            r->rank[i].life.due = due;
}

/* Of those that gather: reports do not arrive in the order of the ends. */
static void _note_first_to_fail (struct restarts *r, struct rank *rank)
{
    if (!rank->restart.together || !r->first->restart.together || !exit_report_failed (&rank->end.report)
        || !ends_fails_before (rank, r->first))
        return;
    r->first->life.failures--;
    rank->life.failures++;
    r->first = rank;
}

/* It has died of what asked it to end. */
static bool _ended_as_asked (const struct restarts *r, const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_SIGNAL && report->number == r->asked_signal;
}

static enum restarts_answer _decide (struct restarts *r, struct rank *rank, const struct exit_report *report,
                                     enum restart_policy_decision *decision)
{
    int left = restart_policy_left (r->policy);

    /* A restart that is used once does not start a task twice. */
    if (r->event_started && restart_policy_judge (r->policy, rank, report) == RESTART_POLICY_ALL)
        _end_event (r);
    if (_is_too_late (r, _in_seconds (r, restart_policy_next_pause (r->policy, rank))))
        restart_policy_over (r->policy, rank, RESTART_POLICY_LATE);
    *decision = restart_policy_ended (r->policy, rank, report);
    if (*decision == RESTART_POLICY_ONE || *decision == RESTART_POLICY_ALL) {
        _set_waiting (r, rank, report);
        _set_event (r, rank, restart_policy_left (r->policy) < left);
        if (*decision == RESTART_POLICY_ALL)
            _begin_gathering (r, rank, report);
        return RESTARTS_WAITS;
    }
    if (*decision == RESTART_POLICY_ASKED && _ended_as_asked (r, report))
        *decision = RESTART_POLICY_NONE;
    if (_succeeded (report) && !r->keeps)
        restart_policy_cannot (r->policy, rank);
    return _is_kept (r, rank, report) ? RESTARTS_KEPT : RESTARTS_ENDED;
}

/* The rank runs no longer. */
static enum restarts_answer _end (struct restarts *r, struct rank *rank, const struct exit_report *report,
                                  bool can_restart, enum restart_policy_decision *decision)
{
    if (!can_restart) {
        if (restarts_gathers (r, rank) && restart_policy_is_possible (r->policy, rank))
            *decision = RESTART_POLICY_CANNOT;
        restart_policy_cannot (r->policy, rank);
    }
    if (!restarts_gathers (r, rank))
        return _decide (r, rank, report, decision);
    _set_waiting (r, rank, report);
    _note_first_to_fail (r, rank);
    r->over = moment_last (r->over, _after_end (r, rank, r->pause));
    return can_restart ? RESTARTS_WAITS : RESTARTS_ENDED;
}

/* The step is to end. */
static void _end_all (struct restarts *r, const struct life_report *asked)
{
    if (!r->asked_signal) {
        r->asked_signal = asked->asked_signal;
        r->asked_at = asked->asked_at;
    }
    for (int i = 0; i < r->tasks; i++)
        restart_policy_over (r->policy, &r->rank[i], RESTART_POLICY_ASKED);
}

enum restarts_answer restarts_report (struct restarts *r, struct rank *rank, const struct exit_report *report,
                                      const struct life_report *life, enum restart_policy_decision *decision)
{
    /* No supervisor begins a life that it was not told: then the report is malformed. */
    bool can_restart = life->life >= 0 && life->life <= rank->life.number;

    *decision = RESTART_POLICY_NONE;
    if (restart_policy_rule (r->policy)->times == 0)
        return RESTARTS_ENDED;
    rank->life.ago_ms = life->ago_ms;
    if (r->now >= r->event_over)
        _end_event (r);
    if (life->asked_signal)
        _end_all (r, life);
    /* It has not begun, and reports that it waits, or that it is stopped. */
    if (rank->state == RANK_SPARE)
        return can_restart ? RESTARTS_WAITS : RESTARTS_ENDED;
    /* While it waits, its fork server may have been killed, or its slurmstepd. */
    if (rank->state == RANK_RUNS || (rank_waits (rank) && !can_restart && !life->asked_signal))
        return _end (r, rank, report, can_restart, decision);
    if (rank->state == RANK_KEPT && !can_restart)
        restart_policy_cannot (r->policy, rank);
    else if (report->kind == EXIT_REPORT_STOPPED)
        rank->life.leaves = false;
    if (rank_waits (rank))
        return RESTARTS_WAITS;
    return rank->state == RANK_KEPT ? RESTARTS_KEPT : RESTARTS_ENDED;
}

enum restart_policy_decision restarts_hang (struct restarts *r, struct rank *rank)
{
    static const struct exit_report hung = { .kind = EXIT_REPORT_HUNG };
    enum restart_policy_decision decision;
    int left = restart_policy_left (r->policy);

    if (r->event_started || r->now >= r->event_over)
        _end_event (r);
    decision = restart_policy_judge (r->policy, rank, &hung);
    if (decision != RESTART_POLICY_ALL || r->gathers)
        return decision;
    restart_policy_ended (r->policy, rank, &hung);
    rank->life.ago_ms = 0;
    _set_event (r, rank, restart_policy_left (r->policy) < left);
    _begin_gathering (r, rank, &hung);
    return decision;
}

void restarts_returned (struct restarts *r, const struct rank *rank)
{
    if (restarts_gathers (r, rank))
        r->over = moment_last (r->over, _in_seconds (r, r->pause));
}

/* All begin again: what has been restarted for this event would begin a second time for it. */
bool restarts_can_replace (struct restarts *r, const struct rank *rank, bool counted)
{
    if (r->now >= r->event_over || (r->event_begun && !counted && !r->gathers))
        _end_event (r);
    return restart_policy_can_replace (r->policy, rank, counted || r->gathers);
}

void restarts_replace (struct restarts *r, struct rank *lost, struct rank *spare, bool counted)
{
    static const struct exit_report killed = { .kind = EXIT_REPORT_SIGNAL, .number = SIGKILL };
    bool called = rank_has_ended (lost), gathers = r->gathers;
    int left = restart_policy_left (r->policy);

    restart_policy_replace (r->policy, lost, spare, gathers || counted);
    spare->life = lost->life;
    spare->life.leaves = false;
    spare->life.ago_ms = 0;
    spare->life.due = NEVER;
    spare->life.failures = 0;
    spare->end.report = called ? lost->end.report : killed;
    if (called)
        rank_change (spare, RANK_IS_KEPT);
    rank_change (spare, RANK_IS_TO_WAIT);
    if (r->first == lost)
        r->first = spare;
    r->everyone = true;
    if (gathers)
        return;
    _set_event (r, spare, restart_policy_left (r->policy) < left);
    _begin_gathering (r, spare, &killed);
}

void restarts_over (struct restarts *r, struct rank *rank)
{
    restart_policy_over (r->policy, rank, RESTART_POLICY_NONE);
}

int restarts_asked_signal (const struct restarts *r, int64_t *at)
{
    *at = r->asked_at;
    return r->asked_signal;
}

void restarts_limit (struct restarts *r, int64_t last)
{
    r->last = last;
    for (int i = 0; i < r->tasks; i++)
        if (rank_waits (&r->rank[i]) && _is_too_late (r, r->rank[i].life.due))
            restart_policy_over (r->policy, &r->rank[i], RESTART_POLICY_LATE);
}

/* Time. */

/* A process of the task runs, or may run. */
static bool _is_alive (const struct rank *rank)
{
    return rank->state == RANK_RUNS || (rank_waits (rank) && rank->life.leaves);
}

bool restarts_stops (const struct restarts *r, const struct rank *rank)
{
    return restarts_gathers (r, rank) && _is_alive (rank) && (rank->serves || r->now >= r->patience);
}

enum restart_policy_decision restarts_why (const struct restarts *r, const struct rank *rank)
{
    enum restart_policy_decision why = rank->restart.why;

    if (!exit_report_failed (&rank->end.report))
        return RESTART_POLICY_NONE;
    /* But if it failed before, its restart was announced. */
    if (why == RESTART_POLICY_ASKED && rank->life.event == 0 && _ended_as_asked (r, &rank->end.report))
        return RESTART_POLICY_NONE;
    return why;
}

/* All members leave the barrier: to their next life, whose failures are another event, or for good. */
static void _leave_barrier (struct restarts *r, bool start)
{
    _end_event (r);
    for (int i = 0; i < r->tasks; i++) {
        struct rank *rank = &r->rank[i];
        bool leaves = rank_waits (rank) && _is_member (r, rank);

        if (leaves)
            rank->life.due = r->now;
        /* If places have changed, no life may begin beside those that run with the former dictionary. */
        if (!start && (leaves || r->everyone))
            restart_policy_cannot (r->policy, rank);
    }
    r->gathers = r->everyone = false;
    r->patience = r->opens = NEVER;
}

static void _check_barrier (struct restarts *r, bool complete)
{
    /* One that is otherwise restarted alone may have made all gather, too. */
    if (!restart_policy_is_possible (r->policy, r->first) || restart_policy_unable (r->policy))
        _leave_barrier (r, false);
    else if (!complete)
        r->opens = NEVER;
    else if (r->opens == NEVER)
        r->opens = r->over;
    else if (r->now >= r->opens)
        _leave_barrier (r, true);
}

void restarts_check (struct restarts *r)
{
    int missing = 0; /* at the barrier */

    if (r->now >= r->event_over)
        _end_event (r);
    for (int i = 0; i < r->tasks; i++) {
        const struct rank *rank = &r->rank[i];

        if (_is_member (r, rank))
            missing += _is_alive (rank) || (rank_waits (rank) && rank->away != NEVER);
    }
    if (r->gathers)
        _check_barrier (r, missing == 0);
}

enum restarts_action restarts_due (struct restarts *r, struct rank *rank)
{
    struct life *life = &rank->life;

    if (_waits_in_vain (r, rank))
        return RESTARTS_RELEASE;
    if (!rank_waits (rank) || restarts_gathers (r, rank) || r->now < life->due)
        return RESTARTS_NOTHING;
    life->number++;
    life->began = r->now;
    life->again = true;
    r->event_begun = r->event_begun || life->event == r->event;
    r->event_started = r->event_started || (life->event == r->event && rank->restart.together);
    life->event = 0;
    return RESTARTS_START;
}

struct rank *restarts_first (const struct restarts *r)
{
    return r->first;
}

int64_t restarts_due_at (const struct restarts *r)
{
    int64_t next = moment_first (r->opens, r->event_over);

    if (r->gathers && r->now < r->patience)
        next = moment_first (next, r->patience);
    for (int i = 0; i < r->tasks; i++)
        if (rank_waits (&r->rank[i]) && !restarts_gathers (r, &r->rank[i]))
            next = moment_first (next, r->rank[i].life.due);
    return next;
}
