/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_policy.h"

#include <errno.h>
#include <stdlib.h>

#include "common/beside.h"
#include "common/rules.h"

struct member {
    bool alone;                 /* its failure concerns no other: it is started again alone */
    bool together;              /* it is one of "all" */
    bool cannot;                /* be started again */
    bool over;                  /* it need not be started again */
};

struct restart_policy {
    struct restart_rule rule;
    int used;
    bool unable;                /* one of "all" is not started again */
    int tasks;
    struct member member[];
};

/* Roles. */

static bool _leads (const char *role)
{
    enum rules_name name = rules_find (role);

    return name == RULES_PS || name == RULES_CHIEF || name == RULES_MASTER;
}

/* Evaluators have a cluster of their own, and tasks beside the cluster none. */
static bool _is_apart (const char *role)
{
    return beside_is (role) || rules_find (role) == RULES_EVALUATOR;
}

static void _set_members (struct restart_policy *policy, const char *const *role)
{
    bool ps = false;
    int members = 0;

    for (int rank = 0; rank < policy->tasks; rank++) {
        ps = ps || rules_find (role[rank]) == RULES_PS;
        members += !_is_apart (role[rank]);
    }
    for (int rank = 0; rank < policy->tasks; rank++) {
        struct member *member = &policy->member[rank];

        member->together = members > 1 && !_is_apart (role[rank]);
        member->alone = !member->together || (ps && !_leads (role[rank]));
    }
}

/* The policy. */

struct restart_policy *restart_policy_create (const struct restart_rule *rule,
                                              const char *const *role, int tasks)
{
    struct restart_policy *policy = calloc (1, sizeof (*policy)
                                               + (size_t)tasks * sizeof (policy->member[0]));

    if (!policy)
        return NULL;
    policy->rule = *rule;
    policy->tasks = tasks;
    _set_members (policy, role);
    return policy;
}

void restart_policy_destroy (struct restart_policy *policy)
{
    int saved = errno;

    free (policy);
    errno = saved;
}

bool restart_policy_is_alone (const struct restart_policy *policy, int rank)
{
    return policy->member[rank].alone;
}

bool restart_policy_is_member (const struct restart_policy *policy, int rank)
{
    return policy->member[rank].together;
}

static enum restart_policy_decision _decide (const struct restart_policy *policy, int rank,
                                             const struct exit_report *report)
{
    const struct member *member = &policy->member[rank];

    if (member->over || !restart_rule_covers (&policy->rule, report))
        return RESTART_POLICY_NONE;
    /* The task's own reason first: a life that could not begin has used a restart. */
    if (member->cannot)
        return RESTART_POLICY_CANNOT;
    if (restart_policy_left (policy) == 0)
        return RESTART_POLICY_USED_UP;
    if (!restart_policy_is_possible (policy, rank))
        return RESTART_POLICY_CANNOT;
    return member->alone ? RESTART_POLICY_ONE : RESTART_POLICY_ALL;
}

enum restart_policy_decision restart_policy_ended (struct restart_policy *policy, int rank,
                                                   const struct exit_report *report)
{
    enum restart_policy_decision decision = _decide (policy, rank, report);

    if (decision == RESTART_POLICY_ONE || decision == RESTART_POLICY_ALL)
        policy->used++;
    else if (exit_report_failed (report))
        restart_policy_cannot (policy, rank);
    return decision;
}

void restart_policy_cannot (struct restart_policy *policy, int rank)
{
    policy->member[rank].cannot = true;
    policy->unable = policy->unable || policy->member[rank].together;
}

void restart_policy_over (struct restart_policy *policy, int rank)
{
    policy->member[rank].over = true;
    policy->unable = policy->unable || policy->member[rank].together;
}

bool restart_policy_is_possible (const struct restart_policy *policy, int rank)
{
    const struct member *member = &policy->member[rank];

    return !member->over && !member->cannot && (member->alone || !policy->unable);
}

bool restart_policy_keeps (const struct restart_policy *policy, int rank)
{
    return policy->member[rank].together && !policy->unable && restart_policy_left (policy) > 0;
}

int restart_policy_left (const struct restart_policy *policy)
{
    return policy->rule.times - policy->used;
}

int restart_policy_pause (const struct restart_policy *policy)
{
    return restart_rule_pause (&policy->rule, policy->used);
}

int restart_policy_next_pause (const struct restart_policy *policy)
{
    return restart_rule_pause (&policy->rule, policy->used + 1);
}

void restart_policy_use_up (struct restart_policy *policy, int times)
{
    policy->used = times < restart_policy_left (policy) ? policy->used + times
                                                        : policy->rule.times;
}
