/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "absence.h"

#include <string.h>

#include "common/second.h"
#include "common/silence.h"
#include "finish.h"
#include "ledger.h"
#include "place.h"
#include "requeue.h"
#include "restarts.h"
#include "spares.h"

/* A supervisor may have another connection, which this process has not accepted yet. */
#define ACCEPT_MS 1000
/* Between two looks whether a spare that is silent is back. */
#define SPARE_MS 1000

/*
 * How long after another one a supervisor may connect when the network is back: an attempt (uplink.c), the
 * pause before the next one, and a second.
 */
static int64_t _return_ms (const struct job *job)
{
    return (silence_interval (job->config->lost_after) + 2) * SECOND_MS;
}

/*
 * Not before a supervisor that is cut off has ended its task, however soon it would be lost otherwise; and as
 * if it had been heard at the end of an outage of this host. A supervisor that closed its connection, and
 * does not come back, is dead.
 */
static void _set_given_up (const struct job *job, struct rank *rank)
{
    int64_t heard = moment_last (job->run - (job->now - rank->heard), job->back);

    rank->given_up = heard + silence_verdict_ms (job->config->lost_after);
    if (rank->absent_ms == JOB_CLOSED_MS)
        rank->given_up = moment_first (rank->given_up, rank->away);
    rank->given_up = moment_last (rank->given_up, job->run + ACCEPT_MS);
    rank->away = moment_last (rank->away, rank->given_up);
}

void absence_begin (struct job *job, struct rank *rank, int ms)
{
    rank->absent_ms = ms;
    rank->away = job->run + ms;
    if (job->config->lost_after == 0)
        return;
    _set_given_up (job, rank);
    /* Its connection was aborted before its silence was of interest. */
    if (job->now - rank->heard >= silence_asked_ms (job->config->lost_after)
        && job->now - rank->heard < silence_told_ms (job->config->lost_after))
        rank->unheard = moment_first (rank->unheard, rank->heard);
}

/* All that are away may need so long, because this host, or the whole job, was away. NEVER stays. */
static void _wait_for_all (struct job *job)
{
    int64_t until = job->run + _return_ms (job);

    EACH_RANK (r, job) {
        r->given_up = moment_last (r->given_up, until);
        r->away = moment_last (r->away, until);
    }
}

/*
 * By what supervisors that have a connection have told. What one without has told counts if none has one:
 * all of them are stopped, and cannot connect.
 */
static bool _is_suspended (const struct job *job)
{
    bool linked = false, away = false;

    EACH_RANK (r, job) {
        if (r->link != LINK_NONE && r->suspended)
            return true;
        linked = linked || r->link != LINK_NONE;
        away = away || (rank_is_supervised (r) && r->suspended);
    }
    return !linked && away;
}

void absence_look_at_suspension (struct job *job)
{
    bool suspended = _is_suspended (job);

    if (!suspended && job->suspended) {
        _wait_for_all (job);
        /* Slurm has moved it by the suspension. */
        job->requeue.end = NEVER;
    }
    job->suspended = suspended;
}

/*
 * A rank comes back that was silent for as long as a supervisor waits before it ends its task, or nearly, as
 * others may have heard of this process a while before it: perhaps this host was cut off. Then the others
 * come back, too, and keep their places.
 */
static bool _was_cut_off (const struct job *job, const struct rank *rank)
{
    int lost_after = job->config->lost_after;

    return lost_after > 0 && rank->away != NEVER
           && job->now - rank->heard >= (lost_after - silence_interval (lost_after)) * SECOND_MS;
}

void absence_end (struct job *job, struct rank *rank)
{
    struct place *p = rank->place;

    if (_was_cut_off (job, rank)) {
        job->back = job->run;
        _wait_for_all (job);
    }
    rank->away = rank->given_up = NEVER;
    /* What has ended without it stays so. */
    if (rank->lost && p && job->phase == JOB_FINISHES && (p->duty.awaited || p == job->finish.place))
        p->phase = PLACE_ENDED;
    if (rank_is_spare (rank))
        rank->end.report = report_stopped;
    rank->lost = false;
    /* Others that were cut off may need this time, too. */
    if (p && restarts_gather (job, p))
        job->gather.opens = moment_last (job->gather.opens, job->run + job->gather.pause * SECOND_MS);
    /* It may be told only now what to check. */
    if (rank->check.checks && job->preflight.until != NEVER)
        job->preflight.until =
            moment_last (job->preflight.until,
                         job->run + (job->config->preflight.seconds + job->config->timeout) * SECOND_MS);
}

/* Losses. */

/*
 * When the others have been asked to save, one that was away, or that they do not need, is lost so early that
 * their next run does not fail for it, but not within ten seconds. Without a ps they could not save.
 */
static int64_t _overdue_at (const struct job *job, const struct rank *r)
{
    const struct requeue *q = &job->requeue;
    const struct place *p = r->place;
    bool needed = p
                  && (p->kind == RULES_PS ? job->phase != JOB_FINISHES
                                          : requeue_awaits (job, p) && r->heard >= q->saves);

    if (r->away == NEVER || q->saves == NEVER || needed)
        return r->away;
    return moment_first (r->away, moment_last (q->until, r->away - r->absent_ms + JOB_CLOSED_MS));
}

/* A place that is kept may come back, or get a spare, until all begin again. */
static bool _is_overdue (const struct job *job, const struct rank *r)
{
    return rank_is_supervised (r) && !(r->place && r->place->phase == PLACE_KEPT)
           && job->run >= _overdue_at (job, r);
}

/* The end of a life that was over before is known; not so if it was stopped for another one. */
static void _lose_rank (struct job *job, struct rank *rank)
{
    struct place *p = rank->place;
    bool waits = p && p->phase == PLACE_WAITS && rank->end.report.kind != EXIT_REPORT_STOPPED;

    ledger_fail (job, job->now - rank->heard);
    if (!waits && !(p && place_has_ended (p)))
        rank->end.report = report_killed;
    if (p)
        finish_end (job, p, p->phase, true);
    else
        rank->lost = true;
}

void absence_check (struct job *job)
{
    struct fact *fact = NULL;
    bool places = false;

    EACH_RANK (r, job) {
        if (!_is_overdue (job, r))
            continue;
        fact = fact ? fact : facts_add (&job->facts, FACT_LOST, NULL);
        fact->given_up =
            fact->given_up || (r->place && r->place->duty.member && restarts_gather (job, r->place));
        places = places || r->place;
        fact_name (fact, r, job->tasks);
    }
    if (!fact)
        return;
    fact->obstacle = places ? spares_obstacle (job) : FACT_NO_OBSTACLE;
    fact->left = budget_left (job);
    EACH_RANK (r, job)
        if (_is_overdue (job, r))
            _lose_rank (job, r);
}

/* Silent nodes. */

/* The silence of one is that of its node; or it is over. FACT, if not NULL, tells of it. */
static void _note_silence (struct job *job, struct fact *fact, const struct rank *one)
{
    bool told = fact && fact->kind == FACT_UNHEARD;

    EACH_RANK (r, job)
        if (rank_is_supervised (r) && strcmp (r->node, one->node) == 0) {
            r->unheard_told = told;
            r->unheard = told ? r->unheard : NEVER;
            if (fact)
                fact_name (fact, r, job->tasks);
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

    EACH_RANK (r, job)
        if (!rank_is_supervised (r)) {
            r->unheard = NEVER;
            r->unheard_told = false;
        } else if (r->link == LINK_NONE)
            continue;
        else if (r->silent)
            r->unheard = moment_first (r->unheard, job->now - silence_long_ms (job->config->lost_after));
        else if (r->unheard_told)
            _note_silence (job, heard = heard ? heard : facts_add (&job->facts, FACT_HEARD, NULL), r);
        else if (r->unheard != NEVER)
            _note_silence (job, NULL, r);
    EACH_RANK (r, job) {
        if (job->now < _silence_told_at (job, r))
            continue;
        unheard = unheard ? unheard : facts_add (&job->facts, FACT_UNHEARD, NULL);
        unheard->seconds = (int)((job->now - r->unheard) / SECOND_MS);
        _note_silence (job, unheard, r);
    }
}

/* srun's host. */

/* There are tasks on srun's host, and leases that end tasks. */
static bool _has_leases (const struct job *job)
{
    bool here = false, spare = false;

    EACH_RANK (r, job) {
        here = here || r->at_srun;
        spare = spare || (rank_is_spare (r) && !r->released);
    }
    return here && spare && job->config->lost_after > 0;
}

/* Others on its host were heard since: then the network works, and it was killed. */
static bool _is_alone_silent (const struct job *job, const struct rank *rank)
{
    EACH_RANK (r, job)
        if (r->heard > rank->heard + _return_ms (job) && strcmp (r->host.id, rank->host.id) == 0)
            return true;
    return false;
}

/* The moment from which on it is cut off; or NEVER. */
static int64_t _cut_off_from (const struct job *job)
{
    const struct rank *known = NULL;
    bool several = false;
    int64_t last = 0;

    if (job->phase == JOB_FINISHES || !_has_leases (job))
        return NEVER;
    EACH_RANK (r, job) {
        if (r->at_srun)
            continue;
        last = moment_last (last, r->heard);
        if (r->link != LINK_NONE)
            return NEVER;
        if (!rank_is_supervised (r))
            continue;
        if (r->away == NEVER || r->absent_ms != JOB_BROKEN_MS)
            return NEVER;
        if (several || _is_alone_silent (job, r))
            continue;
        known = known ? known : r;
        several = strcmp (r->host.id, known->host.id) != 0;
    }
    return several ? last + job->config->lost_after * SECOND_MS : NEVER;
}

void absence_look (struct job *job)
{
    job->isolated = job->now >= _cut_off_from (job);
}

/* When ranks are lost, or get spares, in job->run. */
static int64_t _losses_due (const struct job *job)
{
    int64_t next = NEVER;
    bool waits = false;

    EACH_RANK (r, job) {
        bool lost = r->lost && r->place && r->place->phase != PLACE_ENDED;

        if (!(lost || rank_is_supervised (r)) || (r->place && r->place->phase == PLACE_KEPT))
            continue;
        next = lost ? next : moment_first (next, _overdue_at (job, r));
        if (job->run < r->given_up)
            next = moment_first (next, r->given_up);
        else
            waits = waits || (!lost && r->place);
    }
    return waits ? moment_first (next, job->run + SPARE_MS) : next;
}

int64_t absence_due (const struct job *job)
{
    int64_t next = moment_ahead (_cut_off_from (job), job->now);

    EACH_RANK (r, job)
        next = moment_first (next, _silence_told_at (job, r));
    return moment_first (next, job_when (job, _losses_due (job)));
}
