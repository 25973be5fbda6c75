/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "watchdog.h"

#include "common/second.h"
#include "common/silence.h"
#include "common/value.h"
#include "finish.h"
#include "ledger.h"
#include "place.h"
#include "restarts.h"

/*
 * Supervisors answer within milliseconds. One that was stopped, with its job, answers later: then ask all
 * again. With spares it is known then whether a node is silent that does not answer.
 */
#define PATIENCE_MS 5000
/*
 * Signs at nearly the same time do not tell whose was the last one. The number of messages does, and, if
 * that is the same, that one of them computes: the others wait for it.
 */
#define SAME_MS 1000
/* auto: a task hangs if it is inactive for this many times the longest time before. */
#define TIMES 5
/*
 * ... but during the first FIRSTS times FIRST, a pause may come that was not seen yet. It may last a
 * PART-th of the time before it.
 */
#define FIRSTS 10
#define PART 10
/* So long after a failure has failed what hangs because of it. */
#define AFTER_MS 1000

/* Ranks that have a place. */

static bool _is_hung (const struct rank *rank)
{
    return rank_runs (rank) && rank->watch.hung;
}

/* Nothing may be sent into the middle of a new answer. */
static bool _is_reachable (const struct rank *rank)
{
    return rank_runs (rank) && rank->link == LINK_UP;
}

/* What is known is of the life that runs. */
static bool _knows_signs (const struct rank *rank)
{
    return rank->watch.known && rank->place && rank->watch.signs.life == rank->place->life.number;
}

static enum signs_source _source (const struct rank *rank)
{
    return _knows_signs (rank) ? rank->watch.signs.source : SIGNS_UNKNOWN;
}

/* auto. */

static int64_t _slowest_ms (const struct job *job)
{
    int64_t slowest = 0;

    EACH_RANK (rank, job)
        slowest = moment_last (slowest, rank->watch.signs.slowest_ms);
    return slowest;
}

/* From the least time on. */
static int64_t _times_ms (const struct job *job, int64_t ms)
{
    return moment_last (TIMES * ms, job->config->watch.seconds * SECOND_MS);
}

static int64_t _first_ms (const struct job *job, bool first_life)
{
    int64_t second = job->watchdog.second_ms;

    return first_life || second == 0 ? job->config->watch.first * SECOND_MS : _times_ms (job, second);
}

/* How long a task may be silent. */
static int64_t _most_ms (const struct job *job, const struct rank *rank)
{
    const struct life *life = &rank->place->life;
    int64_t first = _first_ms (job, true), own = _first_ms (job, life->number == 0), passed;
    int64_t most = _times_ms (job, _slowest_ms (job));

    if (!job->config->watch.learns)
        return job->config->watch.seconds * SECOND_MS;
    if (job->run - life->began < own)
        return moment_last (most, own);
    passed = job->run - job->watchdog.began;
    if (passed < FIRSTS * first)
        most = moment_last (
            most, _slowest_ms (job) > 0
                      ? passed / PART
                      : moment_first (FIRSTS * first, moment_last (first, VALUE_WATCHDOG_FIRST * SECOND_MS)));
    return moment_last (most, moment_first (2 * job->watchdog.verdict_ms, first));
}

struct watchdog_learnt watchdog_learn (const struct job *job)
{
    return (struct watchdog_learnt){ .seconds = (int)(_times_ms (job, _slowest_ms (job)) / SECOND_MS),
                                     .first = (int)(_first_ms (job, false) / SECOND_MS),
                                     .slowest_ms = _slowest_ms (job) };
}

/* For how long the rank has been silent by now. */
static int64_t _silent_ms (const struct job *job, const struct rank *rank)
{
    return rank->watch.signs.silent_ms + (job->run - rank->watch.told_run);
}

/* What is to end gives no signs: it saves, or does not end, which its grace deals with. */
static bool _is_to_move (const struct job *job, const struct rank *rank)
{
    return rank_runs (rank) && !finish_stops (job, rank->place) && !restarts_gather (job, rank->place);
}

static bool _is_sign_overdue (const struct job *job, const struct rank *rank, enum signs_source source)
{
    return _is_reachable (rank) && _source (rank) == source && rank->watch.signs.overdue
           && (!job->config->watch.learns || _silent_ms (job, rank) >= _most_ms (job, rank));
}

/*
 * With spares it is soon known whether a node that is silent is lost. That is what the others wait for then.
 * Until that moment, in job->run; 0: no node is silent; NEVER: its connection stands.
 */
static int64_t _loss_known_at (const struct job *job)
{
    int64_t at = 0;

    EACH_RANK (r, job) {
        bool counts = rank_takes_part (r) && rank_is_supervised (r);

        if (counts && r->link != LINK_NONE && r->silent)
            return NEVER;
        if (counts && r->link == LINK_NONE && r->given_up != NEVER)
            at = moment_last (at, r->given_up);
    }
    return at;
}

/* Does the step hang, by what is known? One verdict is enough until the lives that hang have ended. */
static bool _hangs (const struct job *job)
{
    bool message = false, log = false, moves = job->run < job->watchdog.settled;

    EACH_RANK (rank, job) {
        enum signs_source source = _source (rank);

        if (_is_hung (rank))
            return false;
        if (!rank_works (rank) || !_is_to_move (job, rank))
            continue;
        message = message || _is_sign_overdue (job, rank, SIGNS_MESSAGES);
        log = log || _is_sign_overdue (job, rank, SIGNS_LOG);
        moves =
            moves || (source != SIGNS_NONE && source != SIGNS_DONE && !_is_sign_overdue (job, rank, source));
    }
    return (message || (log && !moves)) && job->run >= _loss_known_at (job);
}

/* The verdict. */

/* It has given signs, or could have. */
static bool _has_signs (const struct rank *rank)
{
    return _source (rank) == SIGNS_LOG || _source (rank) == SIGNS_MESSAGES;
}

/*
 * It does not move: it is silent for half of the time at least, or stopped; or nothing is known of it, and
 * it does not only serve.
 */
static bool _is_silent (const struct job *job, const struct rank *rank)
{
    const struct signs *signs = &rank->watch.signs;

    if (!_is_reachable (rank) || !_knows_signs (rank) || !_is_to_move (job, rank))
        return false;
    if (signs_move (signs, _most_ms (job, rank)))
        return false;
    return signs->stopped
           || (rank_works (rank)
               && (_has_signs (rank) || (signs->source == SIGNS_NONE && !rank->place->duty.serves)));
}

/* When it gave its last sign. */
static int64_t _sign_ms (const struct rank *rank)
{
    return rank->watch.told_at - rank->watch.signs.ago_ms;
}

static int64_t _first_sign_ms (const struct job *job)
{
    int64_t first = NEVER;

    EACH_RANK (rank, job)
        if (_is_hung (rank) && _has_signs (rank))
            first = moment_first (first, _sign_ms (rank));
    return first;
}

/* Was one silent before the other? `first` is the first sign of all that are silent. */
static bool _is_before (const struct rank *one, const struct rank *other, int64_t first)
{
    const struct signs *a = &one->watch.signs, *b = &other->watch.signs;

    if (a->stopped != b->stopped)
        return a->stopped;
    if (!_has_signs (one) || !_has_signs (other))
        return _has_signs (one);
    if (_sign_ms (one) - first < SAME_MS && _sign_ms (other) - first < SAME_MS) {
        if (a->messages != b->messages)
            return a->messages < b->messages;
        if (a->busy != b->busy)
            return a->busy;
    }
    return _sign_ms (one) < _sign_ms (other);
}

/* The first one to be silent, or NULL. */
static struct rank *_first_to_hang (const struct job *job)
{
    struct rank *first = NULL;
    int64_t sign = _first_sign_ms (job);

    EACH_RANK (rank, job)
        if (_is_hung (rank) && (!first || _is_before (rank, first, sign)))
            first = rank;
    return first;
}

/* No other one has failed before the first. One without signs is silent as long as that. */
static void _set_since (const struct job *job, const struct rank *first_one)
{
    int64_t first = _has_signs (first_one) ? _sign_ms (first_one) : _first_sign_ms (job);

    EACH_RANK (rank, job) {
        int64_t at = _has_signs (rank) ? _sign_ms (rank) : first;

        if (_is_hung (rank))
            rank->watch.since = rank->watch.failed = rank == first_one ? first : moment_last (at, first + 1);
    }
}

/*
 * A task that had failed before is what they wait for: then they have failed after it. Not so if one is
 * stopped by a signal: the others may have failed because of that.
 */
static void _set_after_failure (const struct job *job, const struct rank *first)
{
    int64_t failed = NEVER;

    EACH_RANK (rank, job)
        if (rank_takes_part (rank) && place_has_ended (rank->place) && exit_report_failed (&rank->end.report))
            failed = moment_first (failed, rank->end.at);
    if (failed == NEVER || first->watch.signs.stopped)
        return;
    EACH_RANK (rank, job)
        if (_is_hung (rank))
            rank->watch.failed = moment_last (rank->watch.failed, failed + AFTER_MS);
}

/* What is known of the others. */
static void _describe_silence (const struct job *job, struct fact *fact)
{
    fact->since = NEVER;
    EACH_RANK (rank, job) {
        bool hung = _is_hung (rank);

        if (hung && rank != fact->ranks[0].rank)
            fact_name (fact, rank, job->tasks);
        if (hung && _has_signs (rank) && rank->watch.signs.silent_ms / SECOND_MS > fact->seconds)
            fact->seconds = (int)(rank->watch.signs.silent_ms / SECOND_MS);
        if (rank == fact->ranks[0].rank || !rank_runs (rank) || !_has_signs (rank))
            continue;
        fact->moving += !hung;
        fact->others += hung;
        if (hung)
            fact->since = moment_first (fact->since, _sign_ms (rank));
    }
}

static void _tell (struct job *job, const struct rank *first, bool restarts)
{
    struct fact *fact = facts_add (&job->facts, FACT_HANG, NULL);

    fact->restarts = restarts;
    fact->learnt = watchdog_learn (job);
    fact->left = budget_left (job);
    if (fact_name (fact, first, job->tasks))
        _describe_silence (job, fact);
}

/* The first one has failed by that, although it has not ended yet. */
static void _decide_hang (struct job *job)
{
    enum decision decision;
    struct rank *first;

    EACH_RANK (rank, job)
        if (rank_takes_part (rank) && _is_silent (job, rank))
            rank->watch.hung = true;
    if (!(first = _first_to_hang (job)))
        return;
    _set_since (job, first);
    _set_after_failure (job, first);
    job->watchdog.verdict_ms = moment_last (job->watchdog.verdict_ms, _silent_ms (job, first));
    ledger_fail (job, _silent_ms (job, first));
    decision = restarts_hang (job, first->place);
    _tell (job, first, decision == DECISION_ALL || decision == DECISION_ONE);
    if (decision != DECISION_ONE)
        restarts_tell (job, first->place, decision);
    if (decision != DECISION_ONE && decision != DECISION_ALL)
        finish_hang (job, first->place);
}

/* Questions. */

static void _ask (struct job *job)
{
    int64_t silence = job->config->lost_after ? silence_long_ms (job->config->lost_after) + SECOND_MS : 0;

    job->watchdog.patience = job->now + moment_last (PATIENCE_MS, silence);
    EACH_RANK (rank, job)
        if (rank_takes_part (rank) && _is_reachable (rank)) {
            rank->watch.known = false;
            rank->watch.question++;
        }
}

static bool _awaits_answers (const struct job *job)
{
    if (job->now >= job->watchdog.patience)
        return false;
    EACH_RANK (rank, job)
        if (!rank->watch.known && rank_takes_part (rank) && _is_reachable (rank))
            return true;
    return false;
}

/* Whose log was the last one that grew; or NULL. */
static struct rank *_last_log (const struct job *job)
{
    struct rank *last = NULL;

    EACH_RANK (rank, job)
        if (_knows_signs (rank) && rank->watch.signs.log_grew && (!last || _sign_ms (rank) > _sign_ms (last)))
            last = rank;
    return last;
}

/* Once. The programs do not know of the watchdog. */
static void _tell_that_none_is_watched (struct job *job)
{
    struct rank *last = _last_log (job);
    struct fact *fact;
    int watched = 0;

    if (job->watchdog.said)
        return;
    EACH_RANK (rank, job) {
        enum signs_source source = _source (rank);

        /* One that has ended may have given signs: others that only serve are not watched then. */
        if (!rank_works (rank) || (place_has_ended (rank->place) && source == SIGNS_UNKNOWN))
            continue;
        if (source != SIGNS_NONE)
            return;
        watched += !place_has_ended (rank->place);
    }
    if (watched == 0)
        return;
    job->watchdog.said = true;
    fact = facts_add (&job->facts, FACT_UNWATCHED, last);
    if (last)
        fact->seconds = (int)((job->now - _sign_ms (last)) / SECOND_MS);
}

void watchdog_take (struct job *job, struct rank *rank, const struct signs *signs)
{
    if (job->config->watch.seconds == 0)
        return;
    rank->watch.signs = *signs;
    rank->watch.known = true;
    rank->watch.told_at = job->now;
    rank->watch.told_run = job->run;
    if (signs->life == 0)
        job->watchdog.second_ms = moment_last (job->watchdog.second_ms, signs->second_ms);
}

void watchdog_check (struct job *job)
{
    /* Tasks that were asked to save may be silent. */
    if (job->config->watch.seconds == 0 || job->requeue.saves != NEVER)
        return;
    if (job->watchdog.patience != NEVER) {
        if (_awaits_answers (job))
            return;
        job->watchdog.patience = NEVER;
        if (_hangs (job))
            _decide_hang (job);
    } else if (_hangs (job))
        _ask (job);
    else
        _tell_that_none_is_watched (job);
}

/* auto: when a silence will be too long; it may be as soon as more is allowed no longer. */
static int64_t _run_due (const struct job *job)
{
    int64_t due = moment_ahead (job->watchdog.began + FIRSTS * _first_ms (job, true), job->run);

    if (!job->config->watch.learns)
        return NEVER;
    EACH_RANK (rank, job)
        if (_is_reachable (rank) && _has_signs (rank) && rank->watch.signs.overdue) {
            const struct life *life = &rank->place->life;
            int64_t left = _most_ms (job, rank) - _silent_ms (job, rank);

            due = moment_first (due, moment_ahead (job->run + left, job->run));
            due =
                moment_first (due, moment_ahead (life->began + _first_ms (job, life->number == 0), job->run));
        }
    return due;
}

int64_t watchdog_due (const struct job *job)
{
    const struct watchdog *w = &job->watchdog;
    int64_t due = moment_ahead (w->settled, job->run);

    if (job->config->watch.seconds == 0 || job->requeue.saves != NEVER)
        return NEVER;
    if (w->patience != NEVER)
        return w->patience;
    due = moment_first (due, _run_due (job));
    return job_when (job, moment_first (due, moment_ahead (_loss_known_at (job), job->run)));
}

/* Tasks end at nearly the same time; one that printed the losses may do so before one that did not. */
void watchdog_note_end (struct job *job, struct rank *rank)
{
    if (rank_works (rank))
        job->watchdog.settled = job->run + _most_ms (job, rank);
    if (rank->end.report.kind == EXIT_REPORT_HUNG && rank->watch.hung)
        rank->end.at = rank->watch.failed;
}
