/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_policy.h"

#include <errno.h>
#include <stdlib.h>

#include "common/beside.h"
#include "common/rules.h"

#define NO_RANK (-1)

struct member {
    bool alone;                 /* its failure concerns no other: it is restarted alone */
    bool together;              /* it is one of "all" */
    bool cannot;                /* be restarted */
    bool over;                  /* it is not restarted */
    enum restart_policy_decision why;   /* if it is over */
    bool failed;                /* in the present event */
};

struct restart_policy {
    struct restart_rule rule;
    int used;
    bool event;                 /* one that has used up a restart goes on */
    int unable;                 /* one of "all" that is not restarted, or NO_RANK */
    int tasks;
    struct member member[];
};

/* Roles. */

static bool _concerns_all (const char *role)
{
    enum rules_name name = rules_find (role);

    return name == RULES_PS || rules_is_chief (name);
}

/* Evaluators have a cluster of their own, and auxiliary tasks none. */
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
        member->alone = !member->together || (ps && !_concerns_all (role[rank]));
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
    policy->unable = NO_RANK;
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

/* Does a failure of this rank belong to the event that goes on? */
static bool _joins (const struct restart_policy *policy, int rank)
{
    return policy->event && !policy->member[rank].failed;
}

static enum restart_policy_decision _judge (const struct restart_policy *policy, int rank,
                                            const struct exit_report *report)
{
    const struct member *member = &policy->member[rank];

    if (!exit_report_failed (report))
        return RESTART_POLICY_NONE;
    if (member->over && member->why != RESTART_POLICY_LATE)
        return member->why;
    if (!restart_rule_covers (&policy->rule, report))
        return RESTART_POLICY_FINAL;
    if (member->over)
        return member->why;
    /* The task's own reason first: a life that could not begin has used a restart. */
    if (member->cannot)
        return RESTART_POLICY_CANNOT;
    if (restart_policy_left (policy) == 0 && !_joins (policy, rank))
        return RESTART_POLICY_USED_UP;
    if (!restart_policy_is_possible (policy, rank))
        return RESTART_POLICY_CANNOT;
    return member->alone ? RESTART_POLICY_ONE : RESTART_POLICY_ALL;
}

static void _use (struct restart_policy *policy, int rank)
{
    if (!_joins (policy, rank)) {
        restart_policy_event_over (policy);
        policy->event = true;
        policy->used++;
    }
    policy->member[rank].failed = true;
}

enum restart_policy_decision restart_policy_ended (struct restart_policy *policy, int rank,
                                                   const struct exit_report *report)
{
    enum restart_policy_decision decision = _judge (policy, rank, report);

    if (decision == RESTART_POLICY_ONE || decision == RESTART_POLICY_ALL)
        _use (policy, rank);
    else if (exit_report_failed (report))
        restart_policy_cannot (policy, rank);
    return decision;
}

void restart_policy_event_over (struct restart_policy *policy)
{
    policy->event = false;
    for (int rank = 0; rank < policy->tasks; rank++)
        policy->member[rank].failed = false;
}

static void _set_unable (struct restart_policy *policy, int rank)
{
    if (policy->member[rank].together && policy->unable == NO_RANK)
        policy->unable = rank;
}

void restart_policy_cannot (struct restart_policy *policy, int rank)
{
    policy->member[rank].cannot = true;
    _set_unable (policy, rank);
}

int restart_policy_unable (const struct restart_policy *policy)
{
    return policy->unable;
}

void restart_policy_over (struct restart_policy *policy, int rank,
                          enum restart_policy_decision why)
{
    struct member *member = &policy->member[rank];

    /* What is done stays done. */
    if (!member->over || member->why != RESTART_POLICY_NONE)
        member->why = why;
    member->over = true;
    _set_unable (policy, rank);
}

enum restart_policy_decision restart_policy_why (const struct restart_policy *policy, int rank)
{
    return policy->member[rank].why;
}

bool restart_policy_is_possible (const struct restart_policy *policy, int rank)
{
    const struct member *member = &policy->member[rank];

    return !member->over && !member->cannot && (member->alone || policy->unable == NO_RANK);
}

bool restart_policy_keeps (const struct restart_policy *policy, int rank)
{
    return policy->member[rank].together && policy->unable == NO_RANK
           && (restart_policy_left (policy) > 0 || policy->event);
}

int restart_policy_left (const struct restart_policy *policy)
{
    return policy->rule.times - policy->used;
}

const struct restart_rule *restart_policy_rule (const struct restart_policy *policy)
{
    return &policy->rule;
}

int restart_policy_pause (const struct restart_policy *policy)
{
    return restart_rule_pause (&policy->rule, policy->used);
}

int restart_policy_next_pause (const struct restart_policy *policy, int rank)
{
    return restart_rule_pause (&policy->rule, policy->used + !_joins (policy, rank));
}
