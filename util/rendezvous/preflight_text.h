/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a check of a node has found (--tf-preflight), for users.
 */
#ifndef TF_PREFLIGHT_TEXT_H
#define TF_PREFLIGHT_TEXT_H

#include <stddef.h>

#include "protocol/rendezvous_config.h"
#include "roster.h"

/* Room for a reason: a path, and a program's last line. */
#define PREFLIGHT_TEXT_SIZE 4608

/* "files", "clock", "gpus", "links", "program" or "check": what has not been passed. */
const char *preflight_text_item (const struct rank *rank);

/* "clock: 14 s ahead of the other hosts, and 3 s are allowed". Returns buf. */
const char *preflight_text_reason (const struct rank *rank, const struct rendezvous_config *config, char *buf,
                                   size_t size);

/* "worker 2 (rank 2) is now rank 8 on n9": what became of the tasks of its node. Returns buf. */
const char *preflight_text_result (const struct roster *roster, const struct rank *rank, bool warns,
                                   char *buf, size_t size);

/* The first one that checks a node, or NULL. */
const struct rank *preflight_text_first (const struct roster *roster);

/* So many nodes were checked, and a check has found the same on all of them; 0: not so. */
int preflight_text_alike (const struct roster *roster);

/* "n3,n7": the nodes that have not passed. Returns buf. */
const char *preflight_text_nodes (const struct roster *roster, char *buf, size_t size);

#endif
