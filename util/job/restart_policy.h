/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The restart policy: which tasks are restarted when one fails. Its input is how ranks end, its
 * output what to start; it does not use processes or clocks.
 *
 *     cluster                what fails               what is restarted
 *     chief (or master), ps  ps, chief or master      all
 *                            another                  that task
 *     ps, no chief           ps                       all
 *                            another                  that task
 *     no ps                  any but an evaluator     all
 *     any                    an evaluator, or an      that task
 *                            auxiliary task
 *     any                    a task that hangs        all
 *
 * If a spare gets the place of a rank (spares.h), all tasks of the step are restarted, also those that are
 * otherwise restarted alone, because each has the addresses of others.
 *
 * "All" is every task of the cluster but the evaluators, which have one of their own; also those
 * that ended with 0. It is one restart. If one of them cannot be restarted, because its failure
 * was final, its supervisor is lost or its program does not allow it, none is. restart_rule.h says
 * which failures are worth another try.
 *
 * Failures that come together are one event, and use up one restart together: the caller says when
 * an event is over. A task that fails a second time begins another one. So no task is started more
 * often than restarts are used up.
 *
 * The rule has two limits: restarts in a row without progress (restarts_step ()), and in all.
 */
#ifndef TF_RESTART_POLICY_H
#define TF_RESTART_POLICY_H

#include <stdbool.h>

#include "protocol/exit_report.h"
#include "protocol/restart_rule.h"

struct rank;

struct restart_policy;

enum restart_policy_decision {
    RESTART_POLICY_NONE,        /* it did not fail, or its work is done */
    RESTART_POLICY_ONE,
    RESTART_POLICY_ALL,
    /* It failed, and nothing is restarted: */
    RESTART_POLICY_FINAL,       /* the rule does not cover this failure */
    RESTART_POLICY_USED_UP,     /* no restart is left */
    RESTART_POLICY_CANNOT,      /* this task, or another of "all", cannot be restarted */
    RESTART_POLICY_ASKED,       /* the step was asked to end */
    RESTART_POLICY_LATE,        /* its next life would begin too late */
};

/* What the policy knows of a rank. Others read it. */
struct restart_standing {
    /* These never change. */
    bool alone;                 /* its failure concerns no other: it is restarted alone */
    bool together;              /* it is one of "all" */

    bool cannot;                /* be restarted */
    bool over;                  /* it is not restarted */
    enum restart_policy_decision why; /* if it is over: NONE (its work is done), ASKED or LATE */
    bool failed;                /* in the present event */
};

/*
 * For a step of `tasks` ranks, one or more, which have their roles. They must live as long. NULL if
 * there is no memory.
 */
struct restart_policy *restart_policy_create (const struct restart_rule *rule, struct rank *rank, int tasks);

/* NULL is fine. */
void restart_policy_destroy (struct restart_policy *policy);

/* What restart_policy_ended () would decide. */
enum restart_policy_decision restart_policy_judge (const struct restart_policy *policy,
                                                   const struct rank *rank, const struct exit_report *report);

/*
 * A rank has ended by itself. The first ONE or ALL of an event uses up a restart. Do not pass the ends
 * of tasks that are stopped for a restart of all. A rank that failed, and is not restarted, never
 * can be.
 */
enum restart_policy_decision restart_policy_ended (struct restart_policy *policy, struct rank *rank,
                                                   const struct exit_report *report);

/* What failed until now has nothing to do with what fails from now on. */
void restart_policy_event_over (struct restart_policy *policy);

/* This rank can never be restarted. */
void restart_policy_cannot (struct restart_policy *policy, struct rank *rank);

/*
 * True if a spare may get the place of this rank, which is lost or cannot be restarted where it is: all
 * other tasks of the cluster can be restarted, and there is a restart for it, unless that was `counted`
 * before.
 */
bool restart_policy_can_replace (const struct restart_policy *policy, const struct rank *rank, bool counted);

/* It gets that. Unless it was counted before, that is a failure of the lost rank, and uses up a restart. */
void restart_policy_replace (struct restart_policy *policy, struct rank *lost, struct rank *spare,
                             bool counted);

/*
 * srun's host is cut off, or not any more. The tasks of all other hosts have ended then, so a failure on
 * this one is not one task's: all are restarted, also with a ps.
 */
void restart_policy_isolate (struct restart_policy *policy, bool isolated);

/*
 * This one of "all", or NULL, has no connection now, and counts as lost: there is no restart of all until it
 * returns, or a spare has its place.
 */
void restart_policy_missing (struct restart_policy *policy, const struct rank *rank);

/* The first one of "all" that cannot be restarted now, or need not be; NULL: none. */
const struct rank *restart_policy_unable (const struct restart_policy *policy);

/*
 * This rank is not restarted, because its work is done (NONE), for ASKED or LATE: that is
 * decided about its failures from now on. If it is one of "all", there is no restart of all any more.
 */
void restart_policy_over (struct restart_policy *policy, struct rank *rank, enum restart_policy_decision why);

/*
 * True if this rank may be restarted after it ended with 0, because a restart of all is still
 * possible: its supervisor stays.
 */
bool restart_policy_keeps (const struct restart_policy *policy, const struct rank *rank);

/* True if a restart that this rank's failure has begun can still be completed. */
bool restart_policy_is_possible (const struct restart_policy *policy, const struct rank *rank);

int restart_policy_left (const struct restart_policy *policy);

/* How many have been used. */
int restart_policy_used (const struct restart_policy *policy);

/* ... since the last progress. */
int restart_policy_row (const struct restart_policy *policy);

/* The step has made progress: what is used from now on counts anew, and so does one that `goes_on`. */
void restart_policy_progress (struct restart_policy *policy, bool goes_on);

const struct restart_rule *restart_policy_rule (const struct restart_policy *policy);

/* Seconds before the restart that was decided last: 1 before the first one after progress, then doubled. */
int restart_policy_pause (const struct restart_policy *policy);

/* The same if this rank fails now. */
int restart_policy_next_pause (const struct restart_policy *policy, const struct rank *rank);

#endif
