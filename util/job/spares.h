/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Spare tasks. A spare is a rank like every other one, with an address and a port, whose program does not
 * start. When a rank is lost, because its node or its supervisor is, a spare gets its place. All tasks of
 * the step are stopped, and begin their next lives with a new dictionary. It is one restart, and needs one.
 *
 * A lost rank never gets its place back: when its supervisor returns it is told to stop at once. A
 * supervisor that cannot be reached has ended its task by itself before (common/silence.h).
 */
#ifndef TF_SPARES_H
#define TF_SPARES_H

#include "model.h"

/*
 * A spare that is free for the place of this rank, or NULL. Preferred are those of its component, of the node
 * that has got other tasks of its node, and of nodes that have nothing else to do.
 */
struct rank *spares_choose (const struct job *job, const struct rank *lost);

/* So many can get a place now. */
int spares_free (const struct job *job);

/* Why a place whose rank is lost gets no spare. */
enum fact_obstacle spares_obstacle (const struct job *job);

/* The place gets this rank, and its own is let go. */
void spares_place (struct job *job, struct place *place, struct rank *spare);

#endif
