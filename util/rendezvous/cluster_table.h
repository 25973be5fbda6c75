/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of a step's cluster, which --tf-show prints at its start and when spares have got places: rank,
 * role, node, address. Ranks that have been replaced are not in it.
 */
#ifndef TF_CLUSTER_TABLE_H
#define TF_CLUSTER_TABLE_H

#include "network/choose.h"
#include "roster.h"

/* To be freed; NULL if there is no memory. All ranks have roles and addresses. */
char *cluster_table (const struct roster *roster, const struct network_choice *choice);

/* How many nodes the step has. */
int cluster_table_nodes (const struct roster *roster);

/* A role and its index, "worker 12", as tables show it. */
#define CLUSTER_TABLE_ROLE_SIZE 80
const char *cluster_table_role (const struct rank *rank, char buf[CLUSTER_TABLE_ROLE_SIZE]);

#endif
