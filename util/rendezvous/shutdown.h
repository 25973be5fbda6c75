/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The end of the job: supervisors report how their tasks ended, and are ordered to stop the tasks
 * whose work is done. stop_policy.h decides which and when; here are the connections, the clocks
 * and the messages.
 */
#ifndef TF_SHUTDOWN_H
#define TF_SHUTDOWN_H

#include <stdbool.h>

#include "common/deadline.h"
#include "common/errtext.h"
#include "protocol/frame.h"
#include "server.h"

struct shutdown;

/*
 * The launch is complete: supervise the tasks if one may have to be stopped or restarted, or if their
 * ends are to be shown; several tasks also to name the first failure, if every node can and not under
 * STOP_WHEN_NEVER. Under a parallel debugger none is. Sets server->shutdown, to be destroyed. -1 and err.
 */
int shutdown_begin (struct server *server, struct errtext *err);
void shutdown_destroy (struct shutdown *shutdown);

/*
 * The first frame of a supervisor whose former connection broke. False if it is malformed; then
 * close the connection.
 */
bool shutdown_reconnect (struct server *server, struct peer *peer, const struct frame *frame);

/*
 * The network broke the connection of a rank; or the rank has a connection again. One that does
 * not return counts as ended after some minutes. Nothing is done in a step whose tasks are not
 * supervised.
 */
void shutdown_lost (struct server *server, int rank);
void shutdown_returned (struct server *server, int rank);

/* A supervisor's connection has become ready. */
void shutdown_receive (struct server *server, struct peer *peer);

/* Do what is due by now. */
void shutdown_check_time (struct server *server);
/* When to call it again. */
struct deadline shutdown_next (const struct server *server);

bool shutdown_all_ended (const struct shutdown *shutdown);

#endif
