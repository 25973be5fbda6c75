/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Spare tasks. A spare is a task like every other one, with an address and a port, whose program does not
 * start. When a rank is lost, because its node or its supervisor is, a spare gets its place: its role, its
 * index, and the number of its lives. All tasks of the step are stopped, and begin their next lives with a
 * new dictionary. It is one restart, and it needs one.
 *
 * A lost rank is never let back into its place: when its supervisor returns it is ordered to stop at once.
 * One that cannot be reached has ended its task by itself before (common/silence.h).
 */
#ifndef TF_SPARES_H
#define TF_SPARES_H

#include "shutdown.h"

/* Replace the ranks that have not come back in time, as far as that is possible. */
void spares_replace (struct server *server);

/*
 * A rank whose supervisor is there, and has reported this end, cannot be restarted on its node: `because`.
 * False if no spare can have its place; else the supervisor is to be let go. `counted` as in
 * restarts_replace ().
 */
bool spares_move (struct server *server, struct rank *rank, const struct exit_report *report,
                  const char *because, bool counted);

/*
 * A rank has failed by itself. True if it has done so three times in a row, each within a minute after its
 * start, and no other one in between: that may be its node.
 */
bool spares_note_failure (struct server *server, const struct rank *rank);

/* A life begins: if it is the first one after ranks have been replaced, say so. */
void spares_begin (struct server *server);

/* True if a rank has been replaced: from then on each order to begin a life has an answer. */
bool spares_are_used (const struct server *server);

/* True if a spare cannot be used now, because its node is silent, and may be usable soon. */
bool spares_are_silent (const struct server *server);

/* Why a rank that is lost is not replaced, as "; no spare is free"; "" in a step without spares. */
const char *spares_why_not (const struct server *server);

#endif
