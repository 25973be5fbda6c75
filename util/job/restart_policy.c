/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_policy.h"

#include <stdlib.h>

#include "rank.h"

struct restart_policy {
    struct restart_rule rule;
    int used, row; /* restarts in all, and since the last progress */
    bool event;                 /* one that has used up a restart goes on */
    const struct rank *unable;  /* one of "all" that is never restarted, or NULL */
    bool isolated;
    const struct rank *missing; /* one that is lost now, or NULL */
    struct rank *rank;
    int tasks;
};

/* Evaluators have a cluster of their own, and auxiliary tasks and spares none. */
static bool _is_apart (const struct rank *rank)
{
    return rank->beside || rank->kind == RULES_EVALUATOR || rank->kind == RULES_SPARE;
}

static void _set_standings (struct restart_policy *policy)
{
    bool ps = false;
    int members = 0;

    for (int i = 0; i < policy->tasks; i++) {
        ps = ps || policy->rank[i].kind == RULES_PS;
        members += !_is_apart (&policy->rank[i]);
    }
    for (int i = 0; i < policy->tasks; i++) {
        struct rank *rank = &policy->rank[i];
        bool together = members > 1 && !_is_apart (rank);
        bool concerns_all = rank->kind == RULES_PS || rank_is_chief (rank);

        rank->restart = (struct restart_standing){
            .together = together,
            .alone = !together || (ps && !concerns_all),
        };
    }
}

struct restart_policy *restart_policy_create (const struct restart_rule *rule, struct rank *rank, int tasks)
{
    struct restart_policy *policy = calloc (1, sizeof (*policy));

    if (!policy)
        return NULL;
    policy->rule = *rule;
    policy->rank = rank;
    policy->tasks = tasks;
    _set_standings (policy);
    return policy;
}

void restart_policy_destroy (struct restart_policy *policy)
{
    free (policy);
}

/* Does a failure of this rank belong to the event that goes on? */
static bool _joins (const struct restart_policy *policy, const struct rank *rank)
{
    return policy->event && !rank->restart.failed;
}

enum restart_policy_decision restart_policy_judge (const struct restart_policy *policy,
                                                   const struct rank *rank, const struct exit_report *report)
{
    const struct restart_standing *standing = &rank->restart;
    bool hung = report->kind == EXIT_REPORT_HUNG;

    if (!exit_report_failed (report))
        return RESTART_POLICY_NONE;
    if (standing->over && standing->why != RESTART_POLICY_LATE)
        return standing->why;
    /* A program that was not started has no exit code of its own. */
    if (!restart_rule_covers (&policy->rule, report)
        && !(standing->cannot && report->kind == EXIT_REPORT_UNSTARTED))
        return RESTART_POLICY_FINAL;
    if (standing->over)
        return standing->why;
    /* The task's own reason first: a life that could not begin has used a restart. */
    if (standing->cannot)
        return RESTART_POLICY_CANNOT;
    if (restart_policy_left (policy) == 0 && !_joins (policy, rank))
        return RESTART_POLICY_USED_UP;
    if (!restart_policy_is_possible (policy, rank))
        return RESTART_POLICY_CANNOT;
    /* The others of the cluster may hang because of it, or it because of them. */
    return standing->alone && !((hung || policy->isolated) && standing->together) ? RESTART_POLICY_ONE
                                                                                  : RESTART_POLICY_ALL;
}

static void _use (struct restart_policy *policy, struct rank *rank)
{
    if (!_joins (policy, rank)) {
        restart_policy_event_over (policy);
        policy->event = true;
        policy->used++;
        policy->row++;
    }
    rank->restart.failed = true;
}

enum restart_policy_decision restart_policy_ended (struct restart_policy *policy, struct rank *rank,
                                                   const struct exit_report *report)
{
    enum restart_policy_decision decision = restart_policy_judge (policy, rank, report);

    if (decision == RESTART_POLICY_ONE || decision == RESTART_POLICY_ALL)
        _use (policy, rank);
    else if (exit_report_failed (report))
        restart_policy_cannot (policy, rank);
    return decision;
}

void restart_policy_event_over (struct restart_policy *policy)
{
    policy->event = false;
    for (int i = 0; i < policy->tasks; i++)
        policy->rank[i].restart.failed = false;
}

static void _set_unable (struct restart_policy *policy, struct rank *rank)
{
    if (rank->restart.together && !policy->unable)
        policy->unable = rank;
}

void restart_policy_cannot (struct restart_policy *policy, struct rank *rank)
{
    rank->restart.cannot = true;
    _set_unable (policy, rank);
}

void restart_policy_isolate (struct restart_policy *policy, bool isolated)
{
    policy->isolated = isolated;
}

void restart_policy_missing (struct restart_policy *policy, const struct rank *rank)
{
    policy->missing = rank;
}

const struct rank *restart_policy_unable (const struct restart_policy *policy)
{
    return policy->missing ? policy->missing : policy->unable;
}

void restart_policy_over (struct restart_policy *policy, struct rank *rank, enum restart_policy_decision why)
{
    struct restart_standing *standing = &rank->restart;

    /* What is done stays done. */
    if (!standing->over || standing->why != RESTART_POLICY_NONE)
        standing->why = why;
    standing->over = true;
    _set_unable (policy, rank);
}

bool restart_policy_can_replace (const struct restart_policy *policy, const struct rank *rank, bool counted)
{
    const struct rank *unable = restart_policy_unable (policy);

    return !rank->restart.over && (!unable || unable == rank)
           && (counted || restart_policy_left (policy) > 0 || _joins (policy, rank));
}

void restart_policy_replace (struct restart_policy *policy, struct rank *lost, struct rank *spare,
                             bool counted)
{
    if (!counted)
        _use (policy, lost);
    spare->restart = lost->restart;
    spare->restart.cannot = false;
    lost->restart = (struct restart_standing){ .alone = true, .cannot = true };
    if (policy->unable == lost)
        policy->unable = NULL;
}

bool restart_policy_is_possible (const struct restart_policy *policy, const struct rank *rank)
{
    const struct restart_standing *standing = &rank->restart;

    return !standing->over && !standing->cannot && rank->state != RANK_LOST
           && (standing->alone || !restart_policy_unable (policy));
}

/* Of restarts in all; those in a row come back with progress. */
static int _left_in_all (const struct restart_policy *policy)
{
    return restart_rule_total (&policy->rule) - policy->used;
}

bool restart_policy_keeps (const struct restart_policy *policy, const struct rank *rank)
{
    return rank->restart.together && !policy->unable && (_left_in_all (policy) > 0 || policy->event);
}

int restart_policy_left (const struct restart_policy *policy)
{
    int all = _left_in_all (policy), row = policy->rule.times - policy->row;

    return all < row ? all : row;
}

int restart_policy_used (const struct restart_policy *policy)
{
    return policy->used;
}

int restart_policy_row (const struct restart_policy *policy)
{
    return policy->row;
}

void restart_policy_progress (struct restart_policy *policy, bool goes_on)
{
    if (policy->row > goes_on)
        policy->row = goes_on;
}

const struct restart_rule *restart_policy_rule (const struct restart_policy *policy)
{
    return &policy->rule;
}

int restart_policy_pause (const struct restart_policy *policy)
{
    return restart_rule_pause (&policy->rule, policy->row);
}

int restart_policy_next_pause (const struct restart_policy *policy, const struct rank *rank)
{
    return restart_rule_pause (&policy->rule, policy->row + !_joins (policy, rank));
}
