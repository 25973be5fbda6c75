/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Spare tasks. A spare is a task like every other one, with an address and a port, whose program does not
 * start. When a rank is lost, because its node or its supervisor is, a spare gets its place: its role, its
 * index, and the number of its lives. All tasks of the step are stopped, and begin their next lives with a
 * new dictionary. It is one restart, and it needs one.
 *
 * A lost rank is never let back into its place: when its supervisor returns it is told to stop at once.
 * One that cannot be reached has ended its task by itself before (common/silence.h).
 */
#ifndef TF_SPARES_H
#define TF_SPARES_H

#include "job.h"

/* Replace the ranks that have not come back in time, as far as that is possible. */
void spares_replace (struct job *job);

/*
 * A rank whose supervisor is there, and has reported this end, cannot be restarted on its node, `because`.
 * False if no spare can have its place; else the supervisor is to be let go. `counted` as in
 * restarts_replace ().
 */
bool spares_move (struct job *job, struct rank *rank, const struct exit_report *report,
                  enum fact_cause because, bool counted);

/*
 * A rank waits that was the first to fail three times without progress: that may be its node. How the others
 * ended does not matter: they may have failed because of it.
 */
bool spares_fails_again (const struct rank *rank);

/* A life begins: if it is the first one after a restart of all, that is told, and what it has cost. */
void spares_begin (struct job *job);

/* True if a spare cannot be used now, because its node is silent, and may be usable soon. */
bool spares_are_silent (const struct job *job);

/* True if a spare is free that could have the place of this rank. */
bool spares_have_one_for (const struct job *job, const struct rank *rank);

/* True if a spare could have it that is silent, and for which it is too early to say that it is lost. */
bool spares_may_have_one_for (const struct job *job, const struct rank *rank);

/* Why a rank that is lost is not replaced. */
enum fact_obstacle spares_obstacle (const struct job *job);

#endif
