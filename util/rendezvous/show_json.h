/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What --tf-show=json prints in place of the tables, with the same facts, and what notify= gets: one object
 * when the cluster is known, one when all tasks have ended, and between them those of facts that programs are
 * told of. Each is one line. doc/event.schema.json describes them.
 */
#ifndef TF_SHOW_JSON_H
#define TF_SHOW_JSON_H

#include "job/facts.h"
#include "network/choose.h"
#include "roster.h"

/* All are to be freed; NULL if there is no memory. */
char *show_json_start (const struct roster *roster, const struct network_choice *choice,
                       const struct rendezvous_config *config);
char *show_json_end (const struct roster *roster, const struct rendezvous_config *config,
                     const struct fact *fact);

/* What happens between them; also NULL if programs are not told of it. */
char *show_json_fact (const struct roster *roster, const struct fact *fact,
                      const struct rendezvous_config *config);

#endif
