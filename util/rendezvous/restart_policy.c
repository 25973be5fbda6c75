/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_policy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/rules.h"

/* What programs exit with that want to be started again: PreemptionCheckpointHandler; SIGTERM. */
#define EXIT_SAVED 42
#define EXIT_TERMINATED (128 + SIGTERM)
/* What another try cannot change: a wrong argument; a program that is not executable, or missing. */
#define EXIT_USAGE 2
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

struct member {
    bool alone;                 /* its failure concerns no other */
    bool together;              /* it is one of "all" */
    bool cannot;
};

struct restart_policy {
    struct restart_policy_config config;
    int used;
    bool over;
    bool unable;                /* one of "all" cannot be started again */
    int tasks;
    struct member member[];
};

/* Roles. */

static bool _is (const char *role, enum rules_name name)
{
    return strcmp (role, rules_roles[name]) == 0;
}

static bool _leads (const char *role)
{
    return _is (role, RULES_PS) || _is (role, RULES_CHIEF) || _is (role, RULES_MASTER);
}

static int _count (const char *const *role, int tasks, enum rules_name name)
{
    int count = 0;

    for (int rank = 0; rank < tasks; rank++)
        count += _is (role[rank], name);
    return count;
}

static void _set_members (struct restart_policy *policy, const char *const *role)
{
    bool ps = _count (role, policy->tasks, RULES_PS) > 0;
    bool several = policy->tasks - _count (role, policy->tasks, RULES_EVALUATOR) > 1;

    for (int rank = 0; rank < policy->tasks; rank++) {
        struct member *member = &policy->member[rank];

        member->together = several && !_is (role[rank], RULES_EVALUATOR);
        member->alone = !member->together || (ps && !_leads (role[rank]));
    }
}

/* The policy. */

struct restart_policy *restart_policy_create (const struct restart_policy_config *config,
                                              const char *const *role, int tasks)
{
    struct restart_policy *policy = calloc (1, sizeof (*policy)
                                               + (size_t)tasks * sizeof (policy->member[0]));

    if (!policy)
        return NULL;
    policy->config = *config;
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

static bool _is_worth_a_try (const struct restart_policy *policy, const struct exit_report *report)
{
    int number = report->number;

    if (policy->config.any)
        return report->kind == EXIT_REPORT_SIGNAL
               || (number != EXIT_USAGE && number != EXIT_NOT_EXECUTABLE
                   && number != EXIT_NOT_FOUND);
    if (report->kind == EXIT_REPORT_SIGNAL)
        return number != SIGSEGV && number != SIGILL && number != SIGFPE && number != SIGABRT;
    return number == EXIT_SAVED || number == EXIT_TERMINATED;
}

static enum restart_policy_decision _decide (const struct restart_policy *policy, int rank,
                                             const struct exit_report *report)
{
    const struct member *member = &policy->member[rank];

    if (policy->over || policy->config.times == 0 || !exit_report_failed (report)
        || !_is_worth_a_try (policy, report))
        return RESTART_POLICY_NONE;
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

void restart_policy_over (struct restart_policy *policy)
{
    policy->over = true;
}

bool restart_policy_is_possible (const struct restart_policy *policy, int rank)
{
    const struct member *member = &policy->member[rank];

    return !policy->over && !member->cannot && (member->alone || !policy->unable);
}

bool restart_policy_keeps (const struct restart_policy *policy, int rank)
{
    return policy->member[rank].together && !policy->unable && !policy->over
           && restart_policy_left (policy) > 0;
}

int restart_policy_left (const struct restart_policy *policy)
{
    return policy->config.times - policy->used;
}

int restart_policy_pause (const struct restart_policy *policy)
{
    int pause = 1;

    for (int i = 1; i < policy->used && pause < policy->config.longest_pause; i++)
        pause *= 2;
    return pause < policy->config.longest_pause ? pause : policy->config.longest_pause;
}
