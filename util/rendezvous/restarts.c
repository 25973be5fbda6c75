/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restarts.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct life {
    enum {
        RUNS,
        WAITS,                  /* for its next life */
        KEPT,                   /* it ended with 0, and may be one of a restart of all */
        RELEASED,               /* it waited, and there is no next life */
        ENDED,
    } state;
    int number;
    struct exit_report end;     /* if it waits */
    struct deadline due;        /* if it waits: when to start it; never before the barrier opens */
};

struct restarts {
    struct restart_policy *policy;
    int grace;                  /* seconds */
    bool keeps;
    int times;
    bool gathers;               /* members at the barrier */
    int first;                  /* the rank whose failure made them gather last */
    struct deadline patience;   /* until then they may end by themselves */
    struct deadline opens;      /* the barrier; never before all members are there */
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
    r->times = rule->times;
    r->patience = r->opens = r->last = deadline_never ();
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

static struct deadline _after_pause (const struct restarts *r)
{
    return _in_seconds (restart_policy_pause (r->policy));
}

static bool _is_too_late (const struct restarts *r, struct deadline due)
{
    return due.at_ms > r->last.at_ms;
}

static bool _gathers (const struct restarts *r, int rank)
{
    return r->gathers && restart_policy_is_member (r->policy, rank);
}

/* Reports. */

static void _set_waiting (struct restarts *r, int rank, const struct exit_report *report,
                          struct deadline due)
{
    struct life *life = &r->life[rank];

    life->state = WAITS;
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
    r->patience = _in_seconds (restart_rule_saved (report) ? r->grace : 0);
    r->opens = deadline_never ();
    for (int i = 0; i < r->tasks; i++)
        if (r->life[i].state == KEPT)
            r->life[i].state = WAITS;
}

static bool _succeeded (const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_EXIT && report->number == 0;
}

/* A task that has ended with 0 stays if it may be needed, and if another one can still fail. */
static bool _is_kept (const struct restarts *r, int rank, const struct exit_report *report)
{
    return _succeeded (report) && r->keeps && restart_policy_keeps (r->policy, rank) && r->busy > 1;
}

static enum restart_policy_decision _decide (struct restarts *r, int rank,
                                             const struct exit_report *report)
{
    enum restart_policy_decision decision;

    if (_is_too_late (r, _in_seconds (restart_policy_next_pause (r->policy))))
        restart_policy_over (r->policy, rank);
    decision = restart_policy_ended (r->policy, rank, report);
    if (_succeeded (report) && !r->keeps)
        restart_policy_cannot (r->policy, rank);
    r->life[rank].state = _is_kept (r, rank, report) ? KEPT : ENDED;
    r->life[rank].end = *report;
    r->life[rank].due = deadline_never ();
    if (decision == RESTART_POLICY_ONE)
        _set_waiting (r, rank, report, _after_pause (r));
    else if (decision == RESTART_POLICY_ALL) {
        _set_waiting (r, rank, report, deadline_never ());
        _begin_gathering (r, rank, report);
    }
    return decision;
}

/* The rank runs no longer. */
static enum restart_policy_decision _end (struct restarts *r, int rank,
                                          const struct exit_report *report, bool can_restart)
{
    bool gives_up = !can_restart && restart_policy_is_possible (r->policy, rank);

    if (!can_restart)
        restart_policy_cannot (r->policy, rank);
    if (!_gathers (r, rank))
        return _decide (r, rank, report);
    _set_waiting (r, rank, report, deadline_never ());
    if (!can_restart)
        r->life[rank].state = ENDED;
    return gives_up ? RESTART_POLICY_CANNOT : RESTART_POLICY_NONE;
}

/* A supervisor that could not reach the rendezvous has started its task again by itself. */
static void _catch_up (struct restarts *r, int rank, int number)
{
    restart_policy_use_up (r->policy, number - r->life[rank].number);
    r->life[rank].number = number;
    if (r->life[rank].state == WAITS)
        r->life[rank].state = RUNS;
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
static void _end_all (struct restarts *r)
{
    for (int rank = 0; rank < r->tasks; rank++)
        restarts_over (r, rank);
}

enum restarts_answer restarts_report (struct restarts *r, int rank,
                                      const struct exit_report *report,
                                      const struct life_report *life,
                                      enum restart_policy_decision *decision)
{
    bool can_restart = life->life >= 0 && life->life <= r->times;

    *decision = RESTART_POLICY_NONE;
    if (life->asked_to_end)
        _end_all (r);
    else if (can_restart && life->life < r->life[rank].number
             && restart_policy_is_possible (r->policy, rank))
        return RESTARTS_AGAIN;
    if (can_restart && life->life > r->life[rank].number)
        _catch_up (r, rank, life->life);
    if (r->life[rank].state == RUNS)
        *decision = _end (r, rank, report, can_restart);
    return _answer (r, rank);
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
    restart_policy_over (r->policy, rank);
}

void restarts_limit (struct restarts *r, struct deadline last)
{
    r->last = last;
    for (int rank = 0; rank < r->tasks; rank++)
        if (r->life[rank].state == WAITS && _is_too_late (r, r->life[rank].due))
            restarts_over (r, rank);
}

/* Time. */

bool restarts_stops (const struct restarts *r, int rank, bool serves)
{
    return _gathers (r, rank) && r->life[rank].state == RUNS
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

/* All members leave the barrier: to their next life, or for good. */
static void _leave_barrier (struct restarts *r, bool start)
{
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
    else if (complete && !deadline_is_set (r->opens))
        r->opens = _after_pause (r);
    else if (complete && deadline_passed (r->opens))
        _leave_barrier (r, true);
}

void restarts_check (struct restarts *r)
{
    int running = 0;

    r->busy = 0;
    for (int rank = 0; rank < r->tasks; rank++) {
        bool member = restart_policy_is_member (r->policy, rank);

        running += member && r->life[rank].state == RUNS;
        r->busy += member && (r->life[rank].state == RUNS || r->life[rank].state == WAITS);
    }
    if (r->gathers)
        _check_barrier (r, running == 0);
}

/* It has ended with 0, and is not needed any more. */
static bool _is_dispensable (const struct restarts *r, int rank)
{
    return r->life[rank].state == KEPT
           && (!restart_policy_keeps (r->policy, rank) || r->busy == 0);
}

static bool _waits_in_vain (const struct restarts *r, int rank)
{
    if (r->life[rank].state == WAITS && !_gathers (r, rank))
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
    if (life->state != WAITS || _gathers (r, rank) || !deadline_passed (life->due))
        return RESTARTS_NOTHING;
    life->state = RUNS;
    life->number++;
    return RESTARTS_START;
}

int restarts_first (const struct restarts *r)
{
    return r->first;
}

struct deadline restarts_next (const struct restarts *r)
{
    struct deadline next = r->opens;

    if (r->gathers && !deadline_passed (r->patience))
        next = deadline_min (next, r->patience);
    for (int rank = 0; rank < r->tasks; rank++)
        if (r->life[rank].state == WAITS && !_gathers (r, rank))
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
