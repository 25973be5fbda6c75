/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "spares.h"

#include <string.h>

#include "common/second.h"
#include "course.h"

/* A task that was the first to fail so often without progress has perhaps a bad node. */
#define MOST_FAILURES 3

/* Which spare. */

static bool _is_unheard (const struct rank *rank)
{
    return rank->away != NEVER || (rank->link != LINK_NONE && rank->silent);
}

static bool _shares_node (const struct rank *one, const struct rank *other)
{
    return strcmp (one->node, other->node) == 0;
}

/* A task of its node is silent, or the node has just been lost. */
static bool _has_silent_node (const struct job *job, const struct rank *spare)
{
    for (int i = 0; i < job->tasks; i++)
        if (_shares_node (&job->rank[i], spare) && rank_is_supervised (&job->rank[i])
            && _is_unheard (&job->rank[i]))
            return true;
    return false;
}

static bool _is_connected (const struct rank *rank)
{
    return rank->state == RANK_SPARE && rank->link == LINK_UP;
}

static bool _is_free (const struct job *job, const struct rank *rank)
{
    return _is_connected (rank) && !_has_silent_node (job, rank);
}

bool spares_are_silent (const struct job *job)
{
    for (int i = 0; i < job->tasks; i++)
        if (_is_connected (&job->rank[i]) && _has_silent_node (job, &job->rank[i]))
            return true;
    return false;
}

/* The tasks of a lost node stay together if they can, and a node that has nothing else to do comes first. */
static int _suitability (const struct job *job, const struct rank *lost, const struct rank *spare)
{
    bool together = false, idle = true;

    for (int i = 0; i < job->tasks; i++) {
        const struct rank *rank = &job->rank[i];

        if (!_shares_node (rank, spare))
            continue;
        together = together || (rank->replaces && _shares_node (rank->replaces, lost));
        idle = idle && rank->kind == RULES_SPARE;
    }
    return 4 * (spare->component_first == lost->component_first) + 2 * together + idle;
}

static bool _fits (const struct rank *lost, const struct rank *spare)
{
    return !_shares_node (spare, lost) && (spare->master_port > 0 || !lost->needs_master_port);
}

static struct rank *_choose (const struct job *job, const struct rank *lost)
{
    struct rank *best = NULL;

    for (int i = 0; i < job->tasks; i++) {
        struct rank *spare = &job->rank[i];

        if (_is_free (job, spare) && _fits (lost, spare)
            && (!best || _suitability (job, lost, spare) > _suitability (job, lost, best)))
            best = spare;
    }
    return best;
}

bool spares_have_one_for (const struct job *job, const struct rank *rank)
{
    return _choose (job, rank);
}

/* Its place. */

static bool _can_replace (const struct job *job, const struct rank *rank, bool counted)
{
    return rank->kind != RULES_SPARE
           && stop_policy_cause (job->policy) == STOP_POLICY_NOT_OVER
           /* One that has ended with 0 is needed only if all are restarted. */
           && rank->state != RANK_KEPT && restarts_can_replace (job->restarts, rank, counted);
}

/* It will answer soon, or lose its connection; or it may still come back, as other ranks that are silent. */
static bool _may_come_back (const struct job *job, const struct rank *spare)
{
    if (spare->state != RANK_SPARE)
        return false;
    return spare->away == NEVER ? spare->silent : job->now < spare->given_up;
}

bool spares_may_have_one_for (const struct job *job, const struct rank *rank)
{
    const struct restart_policy *policy = restarts_policy (job->restarts);

    if (rank->kind == RULES_SPARE || stop_policy_cause (job->policy) != STOP_POLICY_NOT_OVER
        || !restart_policy_can_replace (policy, rank, restarts_are_gathering (job->restarts)))
        return false;
    for (const struct rank *spare = job->rank; spare < job->rank + job->tasks; spare++)
        if (_may_come_back (job, spare) && _fits (rank, spare))
            return true;
    return false;
}

enum fact_obstacle spares_obstacle (const struct job *job)
{
    if (job->config->lost_after == 0 || stop_policy_cause (job->policy) != STOP_POLICY_NOT_OVER)
        return FACT_NO_OBSTACLE;
    for (int i = 0; i < job->tasks; i++)
        if (_is_free (job, &job->rank[i]))
            return restart_policy_left (restarts_policy (job->restarts)) > 0 ? FACT_NO_OBSTACLE
                                                                             : FACT_NO_RESTART;
    return FACT_NO_SPARE;
}

static void _replace (struct job *job, struct rank *lost, struct rank *spare, bool counted)
{
    if (lost->away != NEVER)
        job->replaced_sign = moment_first (job->replaced_sign, lost->heard);
    ledger_fail (job, lost->away != NEVER ? lost->heard : job->now);
    restarts_replace (job->restarts, lost, spare, counted);
    course_replaced (job, lost, spare);
    spare->end.at = lost->end.at;
    spare->end.nth = lost->end.nth;
    spare->end.elapsed_ms = lost->end.elapsed_ms;
}

static int _seconds_since (const struct job *job, int64_t moment)
{
    return (int)((job->now - moment + SECOND_MS / 2) / SECOND_MS);
}

/* The ranks of this fact have been replaced. */
static void _tell_replacement (struct job *job, struct fact *fact, enum fact_cause because, bool joined)
{
    const struct restart_policy *policy = restarts_policy (job->restarts);

    fact->because = because;
    fact->joined = joined;
    fact->pause = restart_policy_pause (policy);
    fact->left = restart_policy_left (policy);
    facts_add (&job->facts, FACT_PLACES, fact->ranks[0].rank->replaced_by);
}

void spares_begin (struct job *job)
{
    struct ledger *l = &job->ledger;
    struct fact *fact;

    if (!l->untold || restarts_are_gathering (job->restarts))
        return;
    l->untold = false;
    fact = facts_add (&job->facts, FACT_AGAIN, NULL);
    fact->noticing_ms = l->noticing_ms;
    fact->pausing_ms = job->run - l->since;
    fact->step = restarts_last_step (job->restarts);
    if (job->replaced_sign != NEVER)
        fact->seconds = _seconds_since (job, job->replaced_sign);
    job->replaced_sign = NEVER;
}

/* If a spare is free for it; `fact` names the ranks that have been replaced, or is NULL. */
static struct fact *_replace_lost (struct job *job, struct rank *lost, struct fact *fact)
{
    struct rank *spare = NULL;

    if (rank_is_supervised (lost) && job->now >= lost->given_up && _can_replace (job, lost, false))
        spare = _choose (job, lost);
    if (!spare)
        return fact;
    if (!fact) {
        fact = facts_add (&job->facts, FACT_REPLACED, NULL);
        fact->seconds = _seconds_since (job, lost->heard);
    }
    _replace (job, lost, spare, false);
    fact_name (fact, lost, job->tasks);
    return fact;
}

static struct fact *_replace_all_lost (struct job *job, struct fact *fact)
{
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        fact = _replace_lost (job, rank, fact);
    return fact;
}

/* The first replacement makes all gather, and one that had ended with 0 is needed then. */
void spares_replace (struct job *job)
{
    bool joined = restarts_are_gathering (job->restarts);
    struct fact *fact;

    if (job->isolated)
        return;
    fact = _replace_all_lost (job, _replace_all_lost (job, NULL));
    if (fact && fact->ranks)
        _tell_replacement (job, fact, FACT_IS_LOST, joined);
}

bool spares_move (struct job *job, struct rank *rank, const struct exit_report *report,
                  enum fact_cause because, bool counted)
{
    bool joined = restarts_are_gathering (job->restarts);
    struct rank *spare;
    struct fact *fact;

    if (job->config->lost_after == 0 || !_can_replace (job, rank, counted) || !(spare = _choose (job, rank)))
        return false;
    _replace (job, rank, spare, counted);
    rank->end.report = *report;
    fact = facts_add (&job->facts, FACT_REPLACED, NULL);
    if (fact_name (fact, rank, 1)) {
        fact->ranks[0].report = *report;
        _tell_replacement (job, fact, because, joined);
    }
    return true;
}

bool spares_fails_again (const struct rank *rank)
{
    /* Another node is not worth the restart of those that train. */
    return rank_waits (rank) && rank->life.failures >= MOST_FAILURES && !rank->beside
           && rank->kind != RULES_EVALUATOR;
}
