/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Options as a part of the messages that bring them from srun to tf-rendezvous, and from there to every
 * supervisor.
 */
#ifndef TF_RULE_FIELDS_H
#define TF_RULE_FIELDS_H

#include "fields.h"

/* --tf-restart, struct restart_rule; without it there are no restarts. */
extern const struct fields restart_rule_fields;

/* --tf-watchdog, struct watch_rule; without it there is no watchdog. */
extern const struct fields watch_rule_fields;

/* --tf-tee, int, tee_mode.h; 0 without it. */
extern const struct fields tee_mode_fields;

/* lost_after=, int: with spare tasks, seconds (common/silence.h). 0 if there are none. */
extern const struct fields lost_after_fields;

#endif
