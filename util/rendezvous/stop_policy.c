/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "stop_policy.h"

#include <errno.h>
#include <stdlib.h>

#include "common/beside.h"
#include "common/rules.h"

#define NO_RANK (-1)

struct member {
    enum rules_name role;       /* RULES_ROLES: one of the site's own, or none */
    bool beside;                /* the cluster */
    bool ended;
};

struct stop_policy {
    enum stop_when when;
    enum stop_policy_cause aim; /* the policy waits for this, and perhaps for a ps that fails */
    int chief;                  /* or the master, or worker 0; or NO_RANK */
    int followed;               /* ranks that must end for the aim */
    int left;                   /* those of them that have not ended */
    int graces;                 /* ranks with grace that have not ended */
    bool only_evaluators;       /* in the cluster */
    bool asked;                 /* to end */
    enum stop_policy_cause cause;
    int cause_rank;
    int tasks;
    struct member member[];
};

/* Roles. */

static int _first (const struct stop_policy *policy, enum rules_name role)
{
    for (int rank = 0; rank < policy->tasks; rank++)
        if (policy->member[rank].role == role)
            return rank;
    return NO_RANK;
}

static int _chief (const struct stop_policy *policy)
{
    int chief = _first (policy, RULES_CHIEF);

    if (chief == NO_RANK)
        chief = _first (policy, RULES_MASTER);
    return chief == NO_RANK ? _first (policy, RULES_WORKER) : chief;
}

static bool _has_chief (const struct stop_policy *policy)
{
    return policy->chief != NO_RANK && rules_is_chief (policy->member[policy->chief].role);
}

static enum stop_policy_cause _aim (const struct stop_policy *policy)
{
    switch (policy->when) {
        case STOP_WHEN_CHIEF:
            return STOP_POLICY_CHIEF_ENDED;
        case STOP_WHEN_WORKERS:
            return STOP_POLICY_WORKERS_ENDED;
        case STOP_WHEN_NEVER:
            return STOP_POLICY_NOT_OVER;
        case STOP_WHEN_AUTO:
            break;
    }
    if (_first (policy, RULES_PS) == NO_RANK)
        return STOP_POLICY_OTHERS_ENDED;
    return _has_chief (policy) ? STOP_POLICY_CHIEF_ENDED : STOP_POLICY_WORKERS_ENDED;
}

static bool _has_only_evaluators (const struct stop_policy *policy)
{
    for (int rank = 0; rank < policy->tasks; rank++)
        if (policy->member[rank].role != RULES_EVALUATOR && !policy->member[rank].beside)
            return false;
    return true;
}

/* True if the aim includes the end of this rank. */
static bool _followed (const struct stop_policy *policy, int rank)
{
    enum rules_name role = policy->member[rank].role;

    if (policy->member[rank].beside)
        return false;
    switch (policy->aim) {
        case STOP_POLICY_CHIEF_ENDED:
            return rank == policy->chief;
        case STOP_POLICY_WORKERS_ENDED:
            return rules_is_chief (role) || role == RULES_WORKER;
        case STOP_POLICY_OTHERS_ENDED:
            return role != RULES_EVALUATOR || policy->only_evaluators;
        case STOP_POLICY_NOT_OVER:
        case STOP_POLICY_PS_FAILED:
        case STOP_POLICY_TASK_FAILED:
            break;
    }
    return false;
}

/* True if the rank may have work to do after the others have ended. */
static bool _has_grace (const struct stop_policy *policy, int rank)
{
    enum rules_name role = policy->member[rank].role;

    return policy->when == STOP_WHEN_AUTO && !policy->member[rank].beside
           && (role == RULES_EVALUATOR || role == RULES_ROLES);
}

/* The policy. */

struct stop_policy *stop_policy_create (enum stop_when when, const char *const *role, int tasks)
{
    struct stop_policy *policy = calloc (1, sizeof (*policy)
                                            + (size_t)tasks * sizeof (policy->member[0]));

    if (!policy)
        return NULL;
    policy->when = when;
    policy->cause_rank = NO_RANK;
    policy->tasks = tasks;
    for (int rank = 0; rank < tasks; rank++) {
        policy->member[rank].role = rules_find (role[rank]);
        policy->member[rank].beside = beside_is (role[rank]);
        policy->graces += _has_grace (policy, rank);
    }
    policy->only_evaluators = _has_only_evaluators (policy);
    policy->chief = _chief (policy);
    policy->aim = _aim (policy);
    for (int rank = 0; rank < tasks; rank++)
        policy->followed += _followed (policy, rank);
    policy->left = policy->followed;
    return policy;
}

void stop_policy_destroy (struct stop_policy *policy)
{
    int saved = errno;

    free (policy);
    errno = saved;
}

bool stop_policy_supervises (const struct stop_policy *policy)
{
    if (policy->when == STOP_WHEN_AUTO && _first (policy, RULES_PS) != NO_RANK)
        return policy->tasks > 1;
    return policy->followed > 0 && policy->followed < policy->tasks;
}

bool stop_policy_serves (const struct stop_policy *policy, int rank)
{
    enum rules_name role = policy->member[rank].role;

    if (policy->followed == 0 || _followed (policy, rank))
        return false;
    return policy->member[rank].beside || role == RULES_PS
           || (role == RULES_WORKER && _first (policy, RULES_PS) != NO_RANK
               && _has_chief (policy));
}

static bool _over (struct stop_policy *policy, enum stop_policy_cause cause, int rank)
{
    policy->cause = cause;
    policy->cause_rank = rank;
    return true;
}

/* The failure of this rank ends the job, now or later. */
static enum stop_policy_cause _failure (const struct stop_policy *policy, int rank)
{
    if (policy->when != STOP_WHEN_AUTO)
        return STOP_POLICY_NOT_OVER;
    if (policy->member[rank].role == RULES_PS)
        return STOP_POLICY_PS_FAILED;
    return policy->aim == STOP_POLICY_OTHERS_ENDED && _followed (policy, rank) && policy->left > 0
           && !policy->only_evaluators && !policy->asked ? STOP_POLICY_TASK_FAILED : STOP_POLICY_NOT_OVER;
}

bool stop_policy_ended (struct stop_policy *policy, int rank, const struct exit_report *report)
{
    struct member *member = &policy->member[rank];
    bool followed = _followed (policy, rank);

    if (member->ended)
        return false;
    member->ended = true;
    policy->left -= followed;
    policy->graces -= _has_grace (policy, rank);
    if (policy->cause != STOP_POLICY_NOT_OVER)
        return false;
    if (exit_report_failed (report) && _failure (policy, rank) != STOP_POLICY_NOT_OVER)
        return _over (policy, _failure (policy, rank), rank);
    if (followed && policy->left == 0)
        return _over (policy, policy->aim, policy->aim == STOP_POLICY_CHIEF_ENDED ? rank : NO_RANK);
    return false;
}

bool stop_policy_lost (struct stop_policy *policy, int rank)
{
    const struct exit_report report = {
        .kind = policy->member[rank].role == RULES_PS ? EXIT_REPORT_SIGNAL : EXIT_REPORT_STOPPED,
    };

    return stop_policy_ended (policy, rank, &report);
}

void stop_policy_asked (struct stop_policy *policy)
{
    policy->asked = true;
}

void stop_policy_returned (struct stop_policy *policy, int rank)
{
    policy->left += policy->member[rank].ended && _followed (policy, rank);
    policy->graces += policy->member[rank].ended && _has_grace (policy, rank);
    policy->member[rank].ended = false;
}

enum stop_policy_cause stop_policy_cause (const struct stop_policy *policy, int *rank)
{
    *rank = policy->cause_rank;
    return policy->cause;
}

enum stop_policy_order stop_policy_order (const struct stop_policy *policy, int rank)
{
    bool failed = policy->cause == STOP_POLICY_TASK_FAILED;

    if (policy->cause == STOP_POLICY_NOT_OVER || policy->member[rank].ended)
        return STOP_POLICY_LEAVE;
    if (policy->member[rank].beside)
        return policy->graces > 0 || (failed && policy->left > 0) ? STOP_POLICY_STOP_LAST : STOP_POLICY_STOP;
    if (failed && _followed (policy, rank))
        return STOP_POLICY_STOP_AFTER_FAILURE;
    return _has_grace (policy, rank) ? STOP_POLICY_STOP_AFTER_GRACE : STOP_POLICY_STOP;
}
