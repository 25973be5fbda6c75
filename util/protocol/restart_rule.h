/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-restart: how often tasks are restarted, after which failures, and how soon. A part of the
 * messages that bring it from srun to tf-rendezvous, and from there to every supervisor.
 *
 * Worth another try are signals that do not show a defect of the program (all but SIGSEGV, SIGILL,
 * SIGFPE and SIGABRT), exit codes 42 and 143, and a hang; with `any`, every failure but 2, 126 and 127.
 */
#ifndef TF_RESTART_RULE_H
#define TF_RESTART_RULE_H

#include <stdbool.h>

#include "exit_report.h"
#include "frame.h"

struct restart_rule {
    int times;                  /* restarts in a step, at most VALUE_MAX_RESTARTS; 0: none */
    bool any;
    int longest_pause;          /* seconds, 1 or more, if there are restarts */
};

/* True if another try may succeed. */
bool restart_rule_covers (const struct restart_rule *rule, const struct exit_report *report);

/* True if the task saved its work and wants to be restarted: exit codes 42 and 143. */
bool restart_rule_saved (const struct exit_report *report);

/* Seconds before the nth restart, from 1: 1 before the first one, then doubled. */
int restart_rule_pause (const struct restart_rule *rule, int nth);

/* Nothing if there are no restarts. */
void restart_rule_add (struct frame *frame, const struct restart_rule *rule);

/* A frame without it has a rule without restarts. -1 if it is malformed. */
int restart_rule_decode (struct restart_rule *rule, const struct frame *frame);

/* The same from an environment. */
int restart_rule_decode_environment (struct restart_rule *rule, char *const env[]);

/*
 * With spare tasks: lost_after= in seconds (common/silence.h). 0 if there are none, and in a frame without
 * it. -1 if it is malformed.
 */
void lost_after_add (struct frame *frame, int seconds);
int lost_after_decode (int *seconds, const struct frame *frame);
int lost_after_decode_environment (int *seconds, char *const env[]);

#endif
