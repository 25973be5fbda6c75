/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The restart policy: which tasks are started again when one fails. Its input is how ranks end, its
 * output what to start; it does not use processes or clocks.
 *
 *     cluster                what fails               what is started again
 *     chief (or master), ps  ps, chief or master      all
 *                            another                  that task
 *     ps, no chief           ps                       all
 *                            another                  that task
 *     no ps                  any but an evaluator     all
 *     any                    an evaluator, or a task  that task
 *                            beside the cluster
 *
 * "All" is every task of the cluster but the evaluators, which have one of their own; also those
 * that ended with 0. It is one restart. If one of them cannot be started again, because its failure
 * was final, its supervisor is lost or its program does not allow it, none is. restart_rule.h says
 * which failures are worth another try.
 */
#ifndef TF_RESTART_POLICY_H
#define TF_RESTART_POLICY_H

#include <stdbool.h>

#include "protocol/exit_report.h"
#include "protocol/restart_rule.h"

struct restart_policy;

/*
 * For a step of `tasks` ranks, one or more. role[] has the role of each and is not kept. NULL if
 * there is no memory.
 */
struct restart_policy *restart_policy_create (const struct restart_rule *rule,
                                              const char *const *role, int tasks);

/* NULL is fine; errno is kept. */
void restart_policy_destroy (struct restart_policy *policy);

/* True if a failure of this rank concerns no other: it is started again alone. This never changes. */
bool restart_policy_is_alone (const struct restart_policy *policy, int rank);

/* True if this rank is one of "all". This never changes. */
bool restart_policy_is_member (const struct restart_policy *policy, int rank);

enum restart_policy_decision {
    RESTART_POLICY_NONE,        /* it did not fail, or this failure is final, or nothing restarts */
    RESTART_POLICY_ONE,
    RESTART_POLICY_ALL,
    RESTART_POLICY_USED_UP,     /* none, because no restart is left */
    RESTART_POLICY_CANNOT,      /* this task, or another of "all", cannot be started again */
};

/*
 * A rank has ended by itself. ONE and ALL use up a restart. Do not pass the ends of tasks that are
 * stopped for a restart of all. A rank whose failure is final cannot be started again.
 */
enum restart_policy_decision restart_policy_ended (struct restart_policy *policy, int rank,
                                                   const struct exit_report *report);

/* This rank can never be started again. */
void restart_policy_cannot (struct restart_policy *policy, int rank);

/*
 * The work of this rank is done, or its step is to end: it is not started again. If it is one of "all", there is
 * no restart of all any more.
 */
void restart_policy_over (struct restart_policy *policy, int rank);

/*
 * True if this rank may be started again after it ended with 0, because a restart of all is still
 * possible: its supervisor stays.
 */
bool restart_policy_keeps (const struct restart_policy *policy, int rank);

/* True if a restart that this rank's failure has begun can still be completed. */
bool restart_policy_is_possible (const struct restart_policy *policy, int rank);

int restart_policy_left (const struct restart_policy *policy);

/* A supervisor has started its task so many times without the rendezvous. */
void restart_policy_use_up (struct restart_policy *policy, int times);

/* Seconds before the restart that was decided last: 1 before the first one, then doubled. */
int restart_policy_pause (const struct restart_policy *policy);

/* The same before the next one. */
int restart_policy_next_pause (const struct restart_policy *policy);

#endif
