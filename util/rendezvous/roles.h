/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The task lists of a step, and the role and index that they give to each rank.
 */
#ifndef TF_ROLES_H
#define TF_ROLES_H

#include "common/errtext.h"
#include "common/tasklist.h"
#include "protocol/rendezvous_config.h"
#include "roster.h"

struct roles {
    const struct rendezvous_config *config;
    struct roster *roster;
    /* One for the step, or one for each component; to be destroyed. */
    struct tasklist *list[RENDEZVOUS_CONFIG_MAX_LISTS];
};

/* The configuration and the roster must live as long. -1 and err if a list is malformed. */
int roles_parse (struct roles *roles, const struct rendezvous_config *config, struct roster *roster,
                 struct errtext *err);

/*
 * Give every rank its role, which lives as long as `roles`, and its index. To be called whenever a rank
 * has registered: it is done once, when the lists need no more facts, some all ranks and some only their
 * number. -1 and err if a list does not fit the step, or if TensorFlow does not accept such a cluster.
 */
int roles_assign (const struct roles *roles, struct errtext *err);

#endif
