/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "stop_policy.h"

#include <stdlib.h>

struct stop_policy {
    enum stop_when when;
    enum stop_policy_cause aim; /* the policy waits for this, and perhaps for a ps that fails */
    const struct rank *chief;   /* or the master, or worker 0; or NULL */
    int followed;               /* ranks that must end for the aim; a spare follows the rank it replaces */
    bool only_evaluators;       /* in the cluster */
    bool asked;                 /* to end */
    enum stop_policy_cause cause;
    const struct rank *cause_rank;
    const struct rank *rank;
    int tasks;
};

/* Roles. */

static const struct rank *_first (const struct stop_policy *policy, enum rules_name kind)
{
    for (int i = 0; i < policy->tasks; i++)
        if (policy->rank[i].kind == kind)
            return &policy->rank[i];
    return NULL;
}

static const struct rank *_chief (const struct stop_policy *policy)
{
    const struct rank *chief = _first (policy, RULES_CHIEF);

    if (!chief)
        chief = _first (policy, RULES_MASTER);
    return chief ? chief : _first (policy, RULES_WORKER);
}

static bool _has_chief (const struct stop_policy *policy)
{
    return policy->chief && rank_is_chief (policy->chief);
}

static enum stop_policy_cause _aim (const struct stop_policy *policy)
{
    switch (policy->when) {
        case STOP_WHEN_CHIEF: return STOP_POLICY_CHIEF_ENDED;
        case STOP_WHEN_WORKERS: return STOP_POLICY_WORKERS_ENDED;
        case STOP_WHEN_NEVER: return STOP_POLICY_NOT_OVER;
        case STOP_WHEN_AUTO: break;
    }
    if (!_first (policy, RULES_PS))
        return STOP_POLICY_OTHERS_ENDED;
    return _has_chief (policy) ? STOP_POLICY_CHIEF_ENDED : STOP_POLICY_WORKERS_ENDED;
}

static bool _has_only_evaluators (const struct stop_policy *policy)
{
    for (int i = 0; i < policy->tasks; i++)
        if (policy->rank[i].kind != RULES_EVALUATOR && policy->rank[i].kind != RULES_SPARE
            && !policy->rank[i].beside)
            return false;
    return true;
}

/* True if the aim includes the end of this rank. */
static bool _is_followed (const struct stop_policy *policy, const struct rank *rank)
{
    if (rank->beside || rank->kind == RULES_SPARE)
        return false;
    switch (policy->aim) {
        case STOP_POLICY_CHIEF_ENDED: return rank == policy->chief;
        case STOP_POLICY_WORKERS_ENDED: return rank_is_chief (rank) || rank->kind == RULES_WORKER;
        case STOP_POLICY_OTHERS_ENDED: return rank->kind != RULES_EVALUATOR || policy->only_evaluators;
        case STOP_POLICY_NOT_OVER:
        case STOP_POLICY_PS_FAILED:
        case STOP_POLICY_TASK_FAILED: break;
    }
    return false;
}

/* True if the rank may have work to do after the others have ended. */
static bool _is_graced (const struct stop_policy *policy, const struct rank *rank)
{
    return policy->when == STOP_WHEN_AUTO && !rank->beside
           && (rank->kind == RULES_EVALUATOR || rank->kind == RULES_ROLES);
}

/* Has a rank of which this is so not ended? */

typedef bool _is_one (const struct stop_policy *policy, const struct rank *rank);

static bool _is_left (const struct stop_policy *policy, _is_one *is_one)
{
    for (const struct rank *rank = policy->rank; rank < policy->rank + policy->tasks; rank++)
        if (!rank_has_ended (rank) && is_one (policy, rank))
            return true;
    return false;
}

static bool _is_busy (const struct stop_policy *policy __attribute__ ((unused)), const struct rank *rank)
{
    return rank->kind != RULES_SPARE;
}

/* The policy. */

struct stop_policy *stop_policy_create (enum stop_when when, const struct rank *rank, int tasks)
{
    struct stop_policy *policy = calloc (1, sizeof (*policy));

    if (!policy)
        return NULL;
    policy->when = when;
    policy->rank = rank;
    policy->tasks = tasks;
    policy->only_evaluators = _has_only_evaluators (policy);
    policy->chief = _chief (policy);
    policy->aim = _aim (policy);
    for (int i = 0; i < tasks; i++)
        policy->followed += _is_followed (policy, &rank[i]);
    return policy;
}

void stop_policy_destroy (struct stop_policy *policy)
{
    free (policy);
}

bool stop_policy_supervises (const struct stop_policy *policy)
{
    if (policy->when == STOP_WHEN_AUTO && _first (policy, RULES_PS))
        return policy->tasks > 1;
    return policy->followed > 0 && policy->followed < policy->tasks;
}

bool stop_policy_serves (const struct stop_policy *policy, const struct rank *rank)
{
    if (policy->followed == 0 || _is_followed (policy, rank))
        return false;
    return rank->beside || rank->kind == RULES_PS
           || (rank->kind == RULES_WORKER && _first (policy, RULES_PS) && _has_chief (policy));
}

/* What the failure of this rank ends the job for, now or later. */
static enum stop_policy_cause _failure (const struct stop_policy *policy, const struct rank *rank)
{
    if (policy->when != STOP_WHEN_AUTO)
        return STOP_POLICY_NOT_OVER;
    if (rank->kind == RULES_PS)
        return STOP_POLICY_PS_FAILED;
    return policy->aim == STOP_POLICY_OTHERS_ENDED && _is_followed (policy, rank)
                   && _is_left (policy, _is_followed) && !policy->only_evaluators && !policy->asked
               ? STOP_POLICY_TASK_FAILED
               : STOP_POLICY_NOT_OVER;
}

bool stop_policy_ended (struct stop_policy *policy, const struct rank *rank)
{
    bool failed = exit_report_failed (&rank->end.report);

    if (policy->cause != STOP_POLICY_NOT_OVER)
        return false;
    if (rank->state == RANK_LOST)
        failed = rank->kind == RULES_PS;
    if (failed && (policy->cause = _failure (policy, rank)) != STOP_POLICY_NOT_OVER)
        policy->cause_rank = rank;
    else if (_is_followed (policy, rank) && !_is_left (policy, _is_followed)) {
        policy->cause = policy->aim;
        policy->cause_rank = policy->aim == STOP_POLICY_CHIEF_ENDED ? rank : NULL;
    }
    return policy->cause != STOP_POLICY_NOT_OVER;
}

bool stop_policy_hangs (struct stop_policy *policy, const struct rank *rank)
{
    if (policy->when != STOP_WHEN_AUTO || policy->cause != STOP_POLICY_NOT_OVER || policy->asked)
        return false;
    policy->cause = STOP_POLICY_TASK_FAILED;
    policy->cause_rank = rank;
    return true;
}

void stop_policy_asked (struct stop_policy *policy)
{
    policy->asked = true;
}

void stop_policy_replaced (struct stop_policy *policy, const struct rank *lost, const struct rank *spare)
{
    if (policy->chief == lost)
        policy->chief = spare;
}

enum stop_policy_cause stop_policy_cause (const struct stop_policy *policy)
{
    return policy->cause;
}

bool stop_policy_failed (const struct stop_policy *policy)
{
    int failed = 0;

    if (policy->cause == STOP_POLICY_PS_FAILED || policy->cause == STOP_POLICY_TASK_FAILED)
        return true;
    if (policy->cause == STOP_POLICY_NOT_OVER || policy->asked)
        return false;
    if (policy->cause == STOP_POLICY_CHIEF_ENDED)
        return exit_report_failed (&policy->cause_rank->end.report);
    for (const struct rank *rank = policy->rank; rank < policy->rank + policy->tasks; rank++)
        failed +=
            _is_followed (policy, rank) && rank->state != RANK_LOST && exit_report_failed (&rank->end.report);
    return policy->cause == STOP_POLICY_WORKERS_ENDED ? failed == policy->followed : failed > 0;
}

bool stop_policy_awaits (const struct stop_policy *policy, const struct rank *rank)
{
    return _is_followed (policy, rank);
}

bool stop_policy_is_cause (const struct stop_policy *policy, const struct rank *rank)
{
    return policy->cause != STOP_POLICY_NOT_OVER
           && (rank == policy->cause_rank || (policy->cause == policy->aim && _is_followed (policy, rank)));
}

bool stop_policy_is_undone (const struct stop_policy *policy)
{
    for (const struct rank *rank = policy->rank; rank < policy->rank + policy->tasks; rank++)
        if (policy->cause != STOP_POLICY_NOT_OVER && policy->cause == policy->aim
            && _is_followed (policy, rank) && rank->end.report.kind == EXIT_REPORT_STOPPED)
            return true;
    return false;
}

const struct rank *stop_policy_cause_rank (const struct stop_policy *policy)
{
    return policy->cause_rank;
}

enum stop_policy_order stop_policy_order (const struct stop_policy *policy, const struct rank *rank)
{
    bool failed = policy->cause == STOP_POLICY_TASK_FAILED;

    if (rank->kind == RULES_SPARE && !rank_has_ended (rank) && !_is_left (policy, _is_busy))
        return STOP_POLICY_STOP;
    if (policy->cause == STOP_POLICY_NOT_OVER || rank_has_ended (rank))
        return STOP_POLICY_LEAVE;
    if (rank->beside)
        return _is_left (policy, _is_graced) || (failed && _is_left (policy, _is_followed))
                   ? STOP_POLICY_STOP_LAST
                   : STOP_POLICY_STOP;
    if (failed && _is_followed (policy, rank))
        return STOP_POLICY_STOP_AFTER_FAILURE;
    return _is_graced (policy, rank) ? STOP_POLICY_STOP_AFTER_GRACE : STOP_POLICY_STOP;
}
