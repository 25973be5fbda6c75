/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-restart (restart_rule.h) and lost_after= as a part of the messages that bring them from srun to
 * tf-rendezvous, and from there to every supervisor.
 */
#ifndef TF_RESTART_FIELDS_H
#define TF_RESTART_FIELDS_H

#include "frame.h"
#include "restart_rule.h"

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
