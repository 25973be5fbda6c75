/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the options in force, srun's own options and its environment mean together, and the rendezvous'
 * configuration that is made of it.
 */
#ifndef TF_SRUN_CONFIG_H
#define TF_SRUN_CONFIG_H

#include <stdbool.h>

#include "common/rules.h"
#include "protocol/contact.h"
#include "protocol/frame.h"
#include "protocol/restart_rule.h"
#include "protocol/rule_fields.h"
#include "srun_side.h"

/* True if a list names this role. */
bool srun_config_has (enum rules_name role);

/* True if --tf-show prints tables, or JSON. */
bool srun_config_shows (void);

/* True unless there is no log directory. */
bool srun_config_logs (void);

/* --tf-restart; a site's default does not count where it cannot work. */
struct restart_rule srun_config_restart (const struct srun_facts *facts);

/* --tf-watchdog; FIRST of a site's default says nothing about this program. */
struct watch_rule srun_config_watchdog (void);

/* srun ends the step so many seconds after its first task has ended; 0: it does not. */
int srun_config_wait (const struct srun_facts *facts);

/* Of SIGTERM's grace, so that a task which is stopped when the first one ends is not killed by srun. */
int srun_config_stop_grace (int wait);

/* The program of --tf-notify, as an absolute path. NULL: there is none, or it is not there, and err. */
const char *srun_config_notify (struct errtext *err);

/* NULL and err. `step` may be NULL (srun_side_start ()). */
struct frame *srun_config_encode (const struct srun_facts *facts, const struct contact *contact,
                                  const char *step, struct errtext *err);

#endif
