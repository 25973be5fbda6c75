/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-watchdog: how long a task may be silent. A part of the messages that bring it from srun to
 * tf-rendezvous, and from there to the supervisor of every task that is watched.
 */
#ifndef TF_WATCH_RULE_H
#define TF_WATCH_RULE_H

#include "frame.h"

struct watch_rule {
    int seconds;                /* between two signs of life; 0: there is no watchdog */
    int first;                  /* from the start of a program to its second one, 1 or more */
};

/* Nothing without a watchdog. */
void watch_rule_add (struct frame *frame, const struct watch_rule *rule);

/* A frame without it has a rule without a watchdog. -1 if it is malformed. */
int watch_rule_decode (struct watch_rule *rule, const struct frame *frame);

/* The same from an environment. */
int watch_rule_decode_environment (struct watch_rule *rule, char *const env[]);

#endif
