/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The budget of restarts: at most N in a row without progress, and `total` in all (--tf-restart). A restart
 * is charged once for all that fails until something begins for it, and nothing begins twice for one restart.
 */
#ifndef TF_BUDGET_H
#define TF_BUDGET_H

#include "model.h"
#include "protocol/restart_rule.h"

/* How many restarts are left. */
static inline int budget_left (const struct job *job)
{
    const struct restart_rule *rule = &job->config->restart;
    int all = restart_rule_total (rule) - job->budget.used, row = rule->times - job->budget.row;

    return all < row ? all : row;
}

/* True if the last restart that was charged is for this place, too: its life began before that. */
static inline bool budget_covers (const struct job *job, const struct place *place)
{
    return job->budget.charged && place->life.used < job->budget.used;
}

/* Seconds before what begins for the last restart. */
static inline int budget_pause (const struct job *job)
{
    return restart_rule_pause (&job->config->restart, job->budget.row);
}

#endif
