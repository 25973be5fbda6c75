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

/* -1 and err if a list is malformed. Nothing of the configuration is kept. */
int roles_create (struct roles **rp, const struct rendezvous_config *config, struct errtext *err);
void roles_destroy (struct roles *roles);

/* Are all the facts known that the lists need: every rank of the step, or only their number? */
bool roles_can_be_assigned (const struct roles *roles, const struct roster *roster);

/*
 * Give every member its role, which lives as long as `roles`, and its index. `step` is the step's
 * name in messages, "step 12.0". -1 and err if a list does not fit the step, or if TensorFlow
 * does not accept such a cluster.
 */
int roles_assign (const struct roles *roles, struct roster *roster, const char *step,
                  struct errtext *err);

#endif
