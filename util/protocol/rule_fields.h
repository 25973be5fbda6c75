/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Options as a part of the messages that bring them from srun to tf-rendezvous, from there to a task, and to
 * its tf-supervise.
 */
#ifndef TF_RULE_FIELDS_H
#define TF_RULE_FIELDS_H

#include <stdbool.h>

#include "fields.h"

/* --tf-watchdog: how long a task may be silent. */
struct watch_rule {
    int seconds;                /* between two activities; 0: there is no watchdog */
    int first;                  /* from the start of a program to its second one, 1 or more */
    bool learns;                /* auto: seconds is the least, and the job decides (job/watchdog.h) */
    bool given; /* first is the user's: a log that does not grow counts from then on */
    int turns; /* supervisors take turns when they tell nothing but another step; 0: none */
};

#define WATCH_RULE_MAX_TURNS 20

/*
 * What srun knows and a task, or its tf-supervise, needs as it is: srun fills it in, and what lies between
 * hands it on. What some tasks do not get is left out by step_answer (). Strings live as long as the frame,
 * or the caller's.
 */
struct task_options {
    const char *batch_host;     /* srun's node, to be asked about (supervise/abandoned.h); or NULL */
    const char *if_abandoned;   /* --tf-if-abandoned, if there is one: what to do then */
    const char *preflight; /* --tf-preflight (common/preflight.h), or NULL */
};

/* The same as parts of a message (fields.h). */

/* --tf-restart, struct restart_rule; without it there are no restarts. */
extern const struct fields restart_rule_fields;

/* --tf-watchdog, struct watch_rule; without it there is no watchdog. */
extern const struct fields watch_rule_fields;

/* lost_after=, int: with spare tasks, seconds (common/silence.h). 0 if there are none. */
extern const struct fields lost_after_fields;

/* struct task_options: each row is there or not. */
extern const struct fields task_options_fields;

#endif
