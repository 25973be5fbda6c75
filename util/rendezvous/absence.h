/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Supervisors without a connection: they come back, or count as lost after a while, and their tasks as
 * killed with them. Nothing is done in a step whose tasks are not supervised.
 */
#ifndef TF_ABSENCE_H
#define TF_ABSENCE_H

#include "shutdown.h"

/* A supervisor that closes its connection and goes on reconnects within a second (uplink.c). */
#define ABSENCE_CLOSED_MS 10000
/*
 * A process that is killed with data that it has not read sends a reset. So does a host on the way,
 * or one that has restarted: then the network works, and a supervisor notices within 30 s
 * (tcp_keep_alive ()) and connects again.
 */
#define ABSENCE_RESET_MS 60000
/*
 * One whose connection the network broke may take 100 s to notice that, to wait, and to connect
 * (uplink.c), and the network may be down for longer. Slurm gives up a node after SlurmdTimeout,
 * which is 300 s by default: before that a training that the outage itself did not end goes on.
 */
#define ABSENCE_BROKEN_MS 300000

/* How long to wait for another connection if this one, which has something to read, ends. */
int absence_ms (const struct peer *peer);

/*
 * The connection of a rank has ended without a report, and it is lost after this time. With spare tasks one
 * may get its place before that, when its node has been silent for long enough (common/silence.h).
 */
void absence_begin (struct server *server, struct rank *rank, int ms);

/* A rank has a connection again: whatever was decided because it had none is undone. */
void absence_end (struct server *server, struct rank *rank);

/* Ranks that have not come back in time are lost. */
void absence_check (struct server *server);

/* srun has ended, as when it or the tasks are killed: what runs is lost, and an event says so. */
void absence_of_srun (struct server *server);

#endif
