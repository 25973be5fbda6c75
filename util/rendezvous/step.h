/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A step as its rendezvous knows it: what srun configured, the ranks that have registered and,
 * when all have, what is decided for each of them: role, address, dictionary. No sockets here.
 */
#ifndef TF_STEP_H
#define TF_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "addresses/host.h"
#include "common/address.h"
#include "common/errtext.h"
#include "network/choose.h"
#include "protocol/answer.h"
#include "protocol/registration.h"
#include "protocol/rendezvous_config.h"
#include "roster.h"

struct step;

/* The configuration must live as long. -1 and err. */
int step_create (struct step **sp, const struct rendezvous_config *config, struct errtext *err);
void step_destroy (struct step *step);

/* What it was created with. */
const struct rendezvous_config *step_config (const struct step *step);

/* "step 12.0" */
const char *step_name (const struct step *step);

/* Its ranks; empty before the first one has registered. */
struct roster *step_roster (struct step *step);

enum step_verdict {
    STEP_ADDED,         /* one more rank is here */
    STEP_IGNORED,       /* the rank is here already, or belongs to a step of another size */
    STEP_REFUSED,       /* err says why the launch can no longer succeed */
};

/* A rank registers, on a connection that ends at `srun` on the rendezvous' side, and comes `from` there. */
enum step_verdict step_add (struct step *step, const struct registration *registration,
                            const struct address *srun, const struct address *from, struct errtext *err);

/*
 * All ranks are here: decide roles, addresses and the dictionary for all of them at once. `own` is
 * the rendezvous' host. -1 and err if the step cannot be launched.
 */
int step_resolve (struct step *step, const struct host *own, struct errtext *err);

/*
 * Places have changed: make the dictionary, and what else follows from who has which place, anew. No answer
 * may be on its way. -1 and err; then no task may be restarted any more.
 */
int step_change (struct step *step, struct errtext *err);

/* Where master.log goes: rank 0's log directory, or NULL. Lives as long as the step. */
const char *step_log_dir (const struct step *step);

/* Every task will have a supervisor. -1 and err if a node cannot start one. */
int step_supervise (struct step *step, struct errtext *err);

/*
 * What a user should know of the choices: the i-th line, NULL after the last. Lives as long as the
 * step.
 */
const char *step_notice (const struct step *step, int i);

/* Of a resolved step. */
const struct network_choice *step_choice (const struct step *step);

/*
 * Encode the answer to a rank of a resolved step; with a goal, NULL or not, whose life begins with it. -1 if
 * there is no memory.
 */
int step_answer (const struct step *step, const struct rank *rank, const struct goal *goal,
                 struct answer_message *message);

#endif
