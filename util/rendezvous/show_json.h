/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What --tf-show=json prints in place of the tables, with the same facts: one object when the
 * cluster is known, and one when all tasks have ended. Each is one line.
 */
#ifndef TF_SHOW_JSON_H
#define TF_SHOW_JSON_H

#include "network/choose.h"
#include "roster.h"

/* To be freed; NULL if there is no memory. */
char *show_json_start (const struct roster *roster, const struct network_choice *choice);
/* `restarts`: how many the step could have. */
char *show_json_end (const struct roster *roster, int restarts);

#endif
