/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "absence.h"

#include <signal.h>
#include <string.h>

#include "common/second.h"
#include "common/silence.h"
#include "course.h"
#include "spares.h"

/* A supervisor may have another connection, which this process has not accepted yet. */
#define ACCEPT_MS 1000

/*
 * How long after another one a supervisor may connect when the network is back: an attempt (uplink.c), the
 * pause before the next one, and a second.
 */
static int64_t _return_ms (int lost_after)
{
    return (silence_interval (lost_after) + 2) * SECOND_MS;
}

/*
 * Not before a supervisor that is cut off has ended its task, however soon it would be lost otherwise; and as
 * if it had been heard at the end of an outage of this host. One that has closed its connection, and does not
 * come back, is dead.
 */
static void _set_given_up (const struct job *job, struct rank *rank, int ms)
{
    rank->given_up = moment_last (rank->heard, job->back) + silence_verdict_ms (job->config->lost_after);
    if (ms == JOB_CLOSED_MS)
        rank->given_up = moment_first (rank->given_up, rank->away);
    rank->given_up = moment_last (rank->given_up, job->now + ACCEPT_MS);
    rank->away = moment_last (rank->away, rank->given_up);
}

void absence_begin (struct job *job, struct rank *rank, int ms)
{
    static const struct failure_text nothing = { .source = FAILURE_TEXT_NONE };

    if (!rank_is_supervised (rank))
        return;
    /* The end of one that waits is known. */
    if (rank->state == RANK_RUNS || rank->state == RANK_SPARE)
        ends_note (&rank->end, job->launched, job->now, ++job->ends, &nothing, 0);
    rank->away = job->now + ms;
    rank->absent = job->now;
    rank->broke = ms == JOB_BROKEN_MS;
    if (job->config->lost_after > 0)
        _set_given_up (job, rank, ms);
}

/*
 * A rank comes back that was silent for as long as a supervisor waits before it ends its task, or nearly, as
 * others may have heard of this process a while before it: perhaps it was this host that was cut off. Then
 * the others come back, too, and keep their places.
 */
static void _wait_for_others (struct job *job, const struct rank *rank)
{
    int lost_after = job->config->lost_after;

    if (rank->away == NEVER
        || job->now - rank->heard < (lost_after - silence_interval (lost_after)) * SECOND_MS)
        return;
    job->back = job->now;
    for (struct rank *other = job->rank; other < job->rank + job->tasks; other++) {
        if (other->given_up == NEVER)
            continue;
        other->given_up = moment_last (other->given_up, job->now + _return_ms (lost_after));
        other->away = moment_last (other->away, other->given_up);
    }
}

void absence_end (struct job *job, struct rank *rank)
{
    _wait_for_others (job, rank);
    rank->away = rank->given_up = NEVER;
    restarts_returned (job->restarts, rank);
    rank_change (rank, RANK_RETURNS);
}

void absence_resume (struct job *job)
{
    int64_t back = job->now + _return_ms (job->config->lost_after);

    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        int64_t ms = job->now - moment_last (job->suspended_at, rank->absent);

        if (rank->given_up != NEVER)
            rank->given_up = moment_last (rank->given_up + ms, back);
        if (rank->away != NEVER)
            rank->away = moment_last (rank->away + ms, back);
    }
}

/* It has not come back in time. A spare may still answer that could have its place. */
static bool _is_gone (const struct job *job, const struct rank *rank)
{
    return job->now >= rank->away && !spares_may_have_one_for (job, rank);
}

/*
 * One that has ended with 0, and is kept for a restart of all, may come back, or get a spare, until there is
 * one. A lost spare is waited for as long as it may be needed.
 */
static bool _is_overdue (const struct job *job, const struct rank *rank)
{
    return rank_is_supervised (rank) && rank->state != RANK_KEPT
           && (_is_gone (job, rank)
               || (rank->state == RANK_SPARE && job->now >= rank->given_up
                   && course_is_done_with (job, rank)));
}

/* The loss of one that has ended with 0 is told when it is needed. */
static void _tell_overdue (struct job *job)
{
    struct fact *fact = NULL;

    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        bool member = restarts_gathers (job->restarts, rank);

        if (!rank->overdue || (rank_has_ended (rank) && !member))
            continue;
        if (!fact)
            fact = facts_add (&job->facts, FACT_LOST, NULL);
        fact->given_up = fact->given_up || member;
        fact->places = fact->places || rank->kind != RULES_SPARE;
        fact_name (fact, rank, job->tasks);
    }
    if (!fact)
        return;
    fact->obstacle = spares_obstacle (job);
    fact->left = restart_policy_left (restarts_policy (job->restarts));
}

static bool _note_overdue (struct job *job)
{
    bool any = false;

    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        rank->overdue = _is_overdue (job, rank);
        any = any || rank->overdue;
    }
    return any;
}

/* It waits: how its life ended has been told. */
static bool _is_known_to_fail (const struct rank *rank)
{
    return rank_waits (rank) && exit_report_failed (&rank->end.report);
}

static void _end_overdue (struct job *job)
{
    static const struct exit_report killed = { .kind = EXIT_REPORT_SIGNAL, .number = SIGKILL };

    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        if (!rank->overdue)
            continue;
        if (rank->state == RANK_CALLED)
            restart_policy_cannot (restarts_policy (job->restarts), rank);
        ledger_fail (job, rank->heard);
        rank->undone = rank->restart.together && restarts_gathers (job->restarts, rank) && rank_waits (rank);
        course_ended (job, rank, RANK_IS_LOST, _is_known_to_fail (rank) ? &rank->end.report : &killed);
        /* If it returns, what it has reported before is news. */
        rank->report = 0;
    }
}

/* With the end of some, others are waited for no longer. */
void absence_check (struct job *job)
{
    spares_replace (job);
    while (_note_overdue (job)) {
        _tell_overdue (job);
        _end_overdue (job);
    }
    absence_note_missing (job);
}

/* The silence of one is that of its node. */
static void _tell_node (struct job *job, struct fact *fact, const struct rank *one)
{
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        if (rank_is_supervised (rank) && strcmp (rank->node, one->node) == 0) {
            rank->unheard_told = fact->kind == FACT_UNHEARD;
            if (!rank->unheard_told)
                rank->unheard = NEVER;
            fact_name (fact, rank, job->tasks);
        }
}

static int64_t _silence_told_at (const struct job *job, const struct rank *rank)
{
    bool awaited = rank->unheard != NEVER && !rank->unheard_told;

    return awaited ? rank->unheard + silence_told_ms (job->config->lost_after) : NEVER;
}

void absence_note_silence (struct job *job)
{
    struct fact *unheard = NULL, *heard = NULL;

    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        bool linked = rank->link != LINK_NONE;

        if (!rank_is_supervised (rank)) {
            rank->unheard = NEVER;
            rank->unheard_told = false;
        } else if (linked && rank->silent && rank->unheard == NEVER)
            rank->unheard = job->now - silence_long_ms (job->config->lost_after);
        else if (linked && !rank->silent && rank->unheard_told)
            _tell_node (job, heard = heard ? heard : facts_add (&job->facts, FACT_HEARD, NULL), rank);
        else if (linked && !rank->silent)
            rank->unheard = NEVER;
    }
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        if (job->now < _silence_told_at (job, rank))
            continue;
        unheard = unheard ? unheard : facts_add (&job->facts, FACT_UNHEARD, NULL);
        unheard->seconds = (int)((job->now - rank->unheard) / SECOND_MS);
        _tell_node (job, unheard, rank);
    }
}

int64_t absence_silence_due (const struct job *job)
{
    int64_t next = NEVER;

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        next = moment_first (next, _silence_told_at (job, rank));
    return next;
}

void absence_note_missing (struct job *job)
{
    const struct rank *missing = NULL;

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks && !missing; rank++)
        if (rank->restart.together
            && (rank->state == RANK_LOST
                || (rank->state == RANK_KEPT && job->now >= rank->away && !spares_have_one_for (job, rank))))
            missing = rank;
    restart_policy_missing (restarts_policy (job->restarts), missing);
}

/* Between two looks whether a spare that is silent is back. */
#define SPARE_MS 1000

int64_t absence_due (const struct job *job)
{
    int64_t next = NEVER;
    bool waits = false;         /* for a spare */

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        if (!rank_is_supervised (rank) || rank->state == RANK_KEPT)
            continue;
        waits = waits || job->now >= rank->given_up;
        if (job->now < rank->away || _is_gone (job, rank))
            next = moment_first (next, rank->away);
        if (job->now < rank->given_up)
            next = moment_first (next, rank->given_up);
    }
    return waits && spares_are_silent (job) ? moment_first (next, job->now + SPARE_MS) : next;
}
