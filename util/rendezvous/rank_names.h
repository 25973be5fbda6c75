/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tasks by name, for messages: "worker 12 (rank 17, n9)", with role and node as far as they are
 * known. Each function that returns a text returns buf.
 */
#ifndef TF_RANK_NAMES_H
#define TF_RANK_NAMES_H

#include <stddef.h>

#include "common/list_text.h"
#include "roster.h"

/* As many as one line of a message names. */
#define RANK_NAMES_MOST 8

/* Room for the name of one rank. */
#define RANK_NAME_SIZE 512

const char *rank_name (const struct rank *rank, char buf[RANK_NAME_SIZE]);

/* Append it to a list. */
void rank_names_add (struct list_text *list, const struct rank *rank);

/*
 * The ranks that are not registered now, and those of them that once were. At most eight are named.
 */
const char *rank_names_missing (const struct roster *roster, char *buf, size_t size);
const char *rank_names_gone (const struct roster *roster, char *buf, size_t size);

/* " (on n9, n10)": the nodes of which not all ranks are here; "" if they are not known. At most eight. */
const char *rank_names_missing_nodes (const struct roster *roster, char *buf, size_t size);

#endif
