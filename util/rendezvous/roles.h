/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The task lists of a step, and the role and index that they give to each rank.
 */
#ifndef TF_ROLES_H
#define TF_ROLES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/errtext.h"
#include "protocol/rendezvous_config.h"
#include "roster.h"

struct roles;

/* -1 and err if a list is malformed. The configuration must live as long. */
int roles_create (struct roles **rp, const struct rendezvous_config *config, struct errtext *err);
void roles_destroy (struct roles *roles);

/*
 * Give every rank its role, which lives as long as `roles`, and its index. To be called whenever a rank
 * has registered: it is done once, when the lists need no more facts, some all ranks and some only their
 * number. -1 and err if a list does not fit the step, or if TensorFlow does not accept such a cluster.
 */
int roles_assign (const struct roles *roles, struct roster *roster, struct errtext *err);

#endif
