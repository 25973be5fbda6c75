/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-restart: how often tasks are restarted, after which failures, and how soon.
 *
 * Worth another try are signals that do not show a defect of the program (all but SIGSEGV, SIGILL,
 * SIGFPE and SIGABRT), exit codes 42 and 143, and a hang; with `any`, every failure but 2, 126 and 127.
 */
#ifndef TF_RESTART_RULE_H
#define TF_RESTART_RULE_H

#include <stdbool.h>

#include "common/value.h"
#include "exit_report.h"

struct restart_rule {
    int times; /* restarts in a row without progress, at most VALUE_MAX_RESTARTS; 0: none */
    bool any;
    int longest_pause; /* seconds, 1 or more, if there are restarts */
    int total; /* restarts in all; 0: VALUE_RESTARTS_IN_ALL times as many */
};

/* True if another try may succeed. */
bool restart_rule_covers (const struct restart_rule *rule, const struct exit_report *report);

/* True if the task saved its work and wants to be restarted: exit codes 42 and 143. */
bool restart_rule_saved (const struct exit_report *report);

/* The most restarts of a step, 0 or more. */
static inline int restart_rule_total (const struct restart_rule *rule)
{
    return rule->total ? rule->total : VALUE_RESTARTS_IN_ALL * rule->times;
}

/* Seconds before the nth restart, from 1: 1 before the first one, then doubled. */
int restart_rule_pause (const struct restart_rule *rule, int nth);

#endif
