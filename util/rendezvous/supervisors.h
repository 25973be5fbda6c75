/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What supervisors and the rendezvous tell each other: how a task has ended, and what to do.
 */
#ifndef TF_SUPERVISORS_H
#define TF_SUPERVISORS_H

#include "protocol/order.h"
#include "shutdown.h"

/* A supervisor's connection has become ready. */
void supervisors_receive (struct server *server, struct peer *peer);

/*
 * The first frame of a supervisor whose former connection broke. False if it is malformed; then
 * close the connection.
 */
bool supervisors_reconnect (struct server *server, struct peer *peer, const struct frame *frame);

/* Send an order to a rank's supervisor, if it has a connection; ORDER_RESTART starts the life rank->life. */
void supervisors_order (struct server *server, struct rank *rank, enum order order);

#endif
