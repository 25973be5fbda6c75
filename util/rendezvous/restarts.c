/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restarts.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* Failures that arrive so soon after the first one are one event. */
#define EVENT_MS 2000

struct life {
    enum {
        RUNS,
        WAITS,                  /* for its next life */
        KEPT,                   /* it ended with 0, and may be one of a restart of all */
        RELEASED,               /* it waited, and there is no next life */
        ENDED,
    } state;
    int number;
    int event;                  /* that has ended this life, from 1; 0: none */
    bool away;                  /* its supervisor has no connection */
    bool leaves;                /* what it left in the background may still run */
    int ago_ms;                 /* when it ended, before its first report */
    struct exit_report end;     /* if it waits */
    struct deadline due;        /* if it waits: when to start it; never before the barrier opens */
};

struct restarts {
    struct restart_policy *policy;
    int grace;                  /* seconds */
    bool keeps;
    int event;                  /* the last one, from 1 */
    struct deadline event_over;
    bool event_started;         /* a member has been restarted for it */
    int asked_signal;           /* to end; 0: the step was not */
    int64_t asked_at;
    bool gathers;               /* members at the barrier */
    int pause;                  /* seconds, before they start */
    int first;                  /* the rank whose failure made them gather last */
    struct deadline patience;   /* until then they may end by themselves */
    struct deadline opens;      /* the barrier; never before all members are there */
    struct deadline over;       /* the pause, after the last end, or return, of a member until now */
    struct deadline last;       /* no life begins later */
    int busy;                   /* members that run or wait, at the last check */
    int tasks;
    struct life life[];
};

struct restarts *restarts_create (const struct restart_rule *rule, int grace, bool keeps,
                                  const char *const *role, int tasks)
{
    struct restarts *r = calloc (1, sizeof (*r) + (size_t)tasks * sizeof (r->life[0]));

    if (!r)
        return NULL;
    r->grace = grace;
    r->keeps = keeps;
    r->event_over = r->patience = r->opens = r->last = deadline_never ();
    r->busy = r->tasks = tasks;
    if ((r->policy = restart_policy_create (rule, role, tasks)))
        return r;
    restarts_destroy (r);
    return NULL;
}

void restarts_destroy (struct restarts *r)
{
    int saved = errno;

    if (r)
        restart_policy_destroy (r->policy);
    free (r);
    errno = saved;
}

const struct restart_policy *restarts_policy (const struct restarts *r)
{
    return r->policy;
}

static struct deadline _in_seconds (int seconds)
{
    return deadline_in_ms (seconds * INT64_C (1000));
}

/* This many seconds after the end of this life, which is reported now. */
static struct deadline _after_end (const struct life *life, int seconds)
{
    return deadline_in_ms (seconds * INT64_C (1000) - life->ago_ms);
}

static bool _is_too_late (const struct restarts *r, struct deadline due)
{
    return due.at_ms > r->last.at_ms;
}

bool restarts_gathers (const struct restarts *r, int rank)
{
    return r->gathers && restart_policy_is_member (r->policy, rank);
}

/* Reports. */

static void _end_event (struct restarts *r)
{
    restart_policy_event_over (r->policy);
    r->event_over = deadline_never ();
}

static bool _succeeded (const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_EXIT && report->number == 0;
}

static void _set_waiting (struct restarts *r, int rank, const struct exit_report *report,
                          struct deadline due)
{
    struct life *life = &r->life[rank];

    life->state = WAITS;
    /* After a failure that the rule covers, its supervisor has killed that. */
    life->leaves = report->kind != EXIT_REPORT_STOPPED
                   && !restart_rule_covers (restart_policy_rule (r->policy), report);
    life->end = *report;
    life->due = due;
}

/*
 * PreemptionCheckpointHandler saves in all tasks together, and each exits when it is ready. A SIGTERM
 * meanwhile would kill the helper processes of a task that is still writing; and if the first task has
 * taken the coordination service with it, TensorFlow's handler raises an exception in the middle of
 * the checkpoint. So the others may end by themselves for a while. Tasks that fail otherwise
 * leave others that hang, or fail: these are stopped at once.
 */
static void _begin_gathering (struct restarts *r, int rank, const struct exit_report *report)
{
    r->gathers = true;
    r->first = rank;
    r->pause = restart_policy_pause (r->policy);
    r->patience = _in_seconds (restart_rule_saved (report) ? r->grace : 0);
    r->opens = deadline_never ();
    r->over = _after_end (&r->life[rank], r->pause);
    for (int i = 0; i < r->tasks; i++)
        if (r->life[i].state == KEPT)
            _set_waiting (r, i, &r->life[i].end, deadline_never ());
}

/* A task that has ended with 0 stays if it may be needed, and if another one can still fail. */
static bool _is_kept (const struct restarts *r, int rank, const struct exit_report *report)
{
    return _succeeded (report) && r->keeps && restart_policy_keeps (r->policy, rank) && r->busy > 1;
}

/* A failure that is worth a restart. The pause begins again for all tasks of its event. */
static void _set_event (struct restarts *r, int rank, bool begins)
{
    struct deadline due = _after_end (&r->life[rank], restart_policy_pause (r->policy));

    if (begins) {
        r->event++;
        r->event_over = deadline_in_ms (EVENT_MS);
        r->event_started = false;
    }
    r->life[rank].event = r->event;
    for (int i = 0; i < r->tasks; i++)
        if (r->life[i].state == WAITS && r->life[i].event == r->event)
            r->life[i].due = due;
}

/* It has died of what asked it to end. */
static bool _ended_as_asked (const struct restarts *r, const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_SIGNAL && report->number == r->asked_signal;
}

static enum restart_policy_decision _decide (struct restarts *r, int rank,
                                             const struct exit_report *report)
{
    enum restart_policy_decision decision;
    int left = restart_policy_left (r->policy);

    /* A restart that is used once does not start a task twice. */
    if (r->event_started && !restart_policy_is_alone (r->policy, rank)
        && restart_rule_covers (restart_policy_rule (r->policy), report))
        _end_event (r);
    if (_is_too_late (r, _in_seconds (restart_policy_next_pause (r->policy, rank))))
        restart_policy_over (r->policy, rank, RESTART_POLICY_LATE);
    decision = restart_policy_ended (r->policy, rank, report);
    if (decision == RESTART_POLICY_ASKED && _ended_as_asked (r, report))
        decision = RESTART_POLICY_NONE;
    if (_succeeded (report) && !r->keeps)
        restart_policy_cannot (r->policy, rank);
    r->life[rank].state = _is_kept (r, rank, report) ? KEPT : ENDED;
    r->life[rank].end = *report;
    r->life[rank].due = deadline_never ();
    if (decision != RESTART_POLICY_ONE && decision != RESTART_POLICY_ALL)
        return decision;
    _set_waiting (r, rank, report, deadline_never ());
    _set_event (r, rank, restart_policy_left (r->policy) < left);
    if (decision == RESTART_POLICY_ALL)
        _begin_gathering (r, rank, report);
    return decision;
}

/* The rank runs no longer. */
static enum restart_policy_decision _end (struct restarts *r, int rank,
                                          const struct exit_report *report, bool can_restart)
{
    bool gives_up = !can_restart && restart_policy_is_possible (r->policy, rank);

    if (!can_restart)
        restart_policy_cannot (r->policy, rank);
    if (!restarts_gathers (r, rank))
        return _decide (r, rank, report);
    _set_waiting (r, rank, report, deadline_never ());
    r->over = deadline_max (r->over, _after_end (&r->life[rank], r->pause));
    if (!can_restart)
        r->life[rank].state = ENDED;
    return gives_up ? RESTART_POLICY_CANNOT : RESTART_POLICY_NONE;
}

static enum restarts_answer _answer (const struct restarts *r, int rank)
{
    switch (r->life[rank].state) {
        case WAITS:
            return RESTARTS_WAITS;
        case KEPT:
            return RESTARTS_KEPT;
        case RUNS:
        case RELEASED:
        case ENDED:
            break;
    }
    return RESTARTS_ENDED;
}

/* The step is to end. */
static void _end_all (struct restarts *r, const struct life_report *asked)
{
    if (!r->asked_signal) {
        r->asked_signal = asked->asked_signal;
        r->asked_at = asked->asked_at;
    }
    for (int rank = 0; rank < r->tasks; rank++)
        restart_policy_over (r->policy, rank, RESTART_POLICY_ASKED);
}

enum restarts_answer restarts_report (struct restarts *r, int rank,
                                      const struct exit_report *report,
                                      const struct life_report *life,
                                      enum restart_policy_decision *decision)
{
    /* No supervisor begins a life without an order: then the report is malformed. */
    bool can_restart = life->life >= 0 && life->life <= r->life[rank].number;

    *decision = RESTART_POLICY_NONE;
    r->life[rank].ago_ms = life->ago_ms;
    if (deadline_passed (r->event_over))
        _end_event (r);
    if (life->asked_signal)
        _end_all (r, life);
    else if (can_restart && life->life < r->life[rank].number
             && restart_policy_is_possible (r->policy, rank))
        return RESTARTS_AGAIN;
    /* While it waits, its fork server may have been killed, or its slurmstepd. */
    if (r->life[rank].state == RUNS
        || (r->life[rank].state == WAITS && !can_restart && !life->asked_signal))
        *decision = _end (r, rank, report, can_restart);
    else if (r->life[rank].state == KEPT && !can_restart)
        restart_policy_cannot (r->policy, rank);
    else if (report->kind == EXIT_REPORT_STOPPED)
        r->life[rank].leaves = false;
    return _answer (r, rank);
}

void restarts_set_away (struct restarts *r, int rank, bool away)
{
    r->life[rank].away = away;
    if (!away && restarts_gathers (r, rank))
        r->over = deadline_max (r->over, _in_seconds (r->pause));
}

void restarts_lost (struct restarts *r, int rank)
{
    restart_policy_cannot (r->policy, rank);
    r->life[rank].state = ENDED;
}

void restarts_returned (struct restarts *r, int rank)
{
    if (r->life[rank].state == ENDED)
        r->life[rank].state = RUNS;
}

void restarts_over (struct restarts *r, int rank)
{
    restart_policy_over (r->policy, rank, RESTART_POLICY_NONE);
}

int restarts_asked_signal (const struct restarts *r, int64_t *at)
{
    *at = r->asked_at;
    return r->asked_signal;
}

void restarts_limit (struct restarts *r, struct deadline last)
{
    r->last = last;
    for (int rank = 0; rank < r->tasks; rank++)
        if (r->life[rank].state == WAITS && _is_too_late (r, r->life[rank].due))
            restart_policy_over (r->policy, rank, RESTART_POLICY_LATE);
}

/* Time. */

/* A process of the task runs, or may run. */
static bool _is_alive (const struct life *life)
{
    return life->state == RUNS || (life->state == WAITS && life->leaves);
}

bool restarts_stops (const struct restarts *r, int rank, bool serves)
{
    return restarts_gathers (r, rank) && _is_alive (&r->life[rank])
           && (serves || deadline_passed (r->patience));
}

int restarts_life (const struct restarts *r, int rank)
{
    return r->life[rank].number;
}

bool restarts_waits (const struct restarts *r, int rank)
{
    return r->life[rank].state == WAITS || r->life[rank].state == KEPT;
}

const struct exit_report *restarts_end (const struct restarts *r, int rank)
{
    return &r->life[rank].end;
}

enum restart_policy_decision restarts_why (const struct restarts *r, int rank)
{
    const struct life *life = &r->life[rank];
    enum restart_policy_decision why = restart_policy_why (r->policy, rank);

    if (!exit_report_failed (&life->end))
        return RESTART_POLICY_NONE;
    /* But if it failed before, its restart was announced. */
    if (why == RESTART_POLICY_ASKED && life->event == 0 && _ended_as_asked (r, &life->end))
        return RESTART_POLICY_NONE;
    return why;
}

/* All members leave the barrier: to their next life, whose failures are another event, or for good. */
static void _leave_barrier (struct restarts *r, bool start)
{
    _end_event (r);
    r->gathers = false;
    r->patience = r->opens = deadline_never ();
    for (int rank = 0; rank < r->tasks; rank++) {
        struct life *life = &r->life[rank];

        if (life->state != WAITS || !restart_policy_is_member (r->policy, rank))
            continue;
        life->due = deadline_in_ms (0);
        life->state = start ? WAITS : RELEASED;
    }
}

static void _check_barrier (struct restarts *r, bool complete)
{
    if (!restart_policy_is_possible (r->policy, r->first))
        _leave_barrier (r, false);
    else if (!complete)
        r->opens = deadline_never ();
    else if (!deadline_is_set (r->opens))
        r->opens = r->over;
    else if (deadline_passed (r->opens))
        _leave_barrier (r, true);
}

void restarts_check (struct restarts *r)
{
    int missing = 0;            /* at the barrier */

    if (deadline_passed (r->event_over))
        _end_event (r);
    r->busy = 0;
    for (int rank = 0; rank < r->tasks; rank++) {
        const struct life *life = &r->life[rank];

        if (!restart_policy_is_member (r->policy, rank))
            continue;
        missing += _is_alive (life) || (life->state == WAITS && life->away);
        r->busy += life->state == RUNS || life->state == WAITS;
    }
    if (r->gathers)
        _check_barrier (r, missing == 0);
}

/* It has ended with 0, and is not needed any more. */
static bool _is_dispensable (const struct restarts *r, int rank)
{
    return r->life[rank].state == KEPT
           && (!restart_policy_keeps (r->policy, rank) || r->busy == 0);
}

static bool _waits_in_vain (const struct restarts *r, int rank)
{
    if (r->life[rank].state == WAITS && !restarts_gathers (r, rank))
        return !restart_policy_is_possible (r->policy, rank);
    return r->life[rank].state == RELEASED || _is_dispensable (r, rank);
}

enum restarts_action restarts_due (struct restarts *r, int rank)
{
    struct life *life = &r->life[rank];

    if (_waits_in_vain (r, rank)) {
        life->state = ENDED;
        return RESTARTS_RELEASE;
    }
    if (life->state != WAITS || restarts_gathers (r, rank) || !deadline_passed (life->due))
        return RESTARTS_NOTHING;
    life->state = RUNS;
    life->number++;
    r->event_started = r->event_started || (life->event == r->event
                                            && restart_policy_is_member (r->policy, rank));
    life->event = 0;
    return RESTARTS_START;
}

int restarts_first (const struct restarts *r)
{
    return r->first;
}

struct deadline restarts_next (const struct restarts *r)
{
    struct deadline next = deadline_min (r->opens, r->event_over);

    if (r->gathers && !deadline_passed (r->patience))
        next = deadline_min (next, r->patience);
    for (int rank = 0; rank < r->tasks; rank++)
        if (r->life[rank].state == WAITS && !restarts_gathers (r, rank))
            next = deadline_min (next, r->life[rank].due);
    return next;
}

bool restarts_are_done (const struct restarts *r)
{
    for (int rank = 0; rank < r->tasks; rank++)
        if (restarts_waits (r, rank))
            return false;
    return true;
}
