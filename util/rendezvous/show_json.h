/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The events of a step, for programs: what --tf-show=json prints in place of the tables, with the same facts,
 * and what the site's and the user's programs get (notify.h). One object when the cluster is known, one when
 * all tasks have ended, and between them those of facts that programs are told of. Each is one line.
 * doc/event.schema.json describes them.
 */
#ifndef TF_SHOW_JSON_H
#define TF_SHOW_JSON_H

#include "job/facts.h"
#include "step.h"

/* Both are to be freed; NULL if there is no memory. They are printed where the tables are. */
char *show_json_start (const struct roster *roster, const struct network_choice *choice,
                       const struct rendezvous_config *config);
char *show_json_end (const struct roster *roster, const struct rendezvous_config *config,
                     const struct fact *fact);

/* One of these, for the programs that get events. It is freed; NULL is fine. */
void show_json_notify (struct step *step, char *text, bool last);

/* What happens between them, if programs are told of that: print it, and notify. */
void show_json_tell (struct step *step, const struct fact *fact);

#endif
