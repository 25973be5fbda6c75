/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The supervisors of a step: what they report goes to the job, which decides (job/job.h); what that leads
 * to is sent to them, and told to the user.
 */
#ifndef TF_SUPERVISORS_H
#define TF_SUPERVISORS_H

#include "common/errtext.h"
#include "journal.h"
#include "protocol/status.h"
#include "server.h"

/*
 * The launch is complete: supervise the tasks if one may have to be stopped or restarted, or if their
 * ends are to be shown; several tasks also to name the first failure, if every node can and not under
 * STOP_WHEN_NEVER. Under a parallel debugger none is. Sets server->job and ->lines, which
 * supervisors_end () destroys. -1 and err.
 */
int supervisors_begin (struct server *server, struct errtext *err);
void supervisors_end (struct server *server);

/* A supervisor's connection has become ready. */
void supervisors_receive (struct server *server, struct peer *peer);

/*
 * The first frame of a supervisor whose former connection broke. False if it is malformed; then
 * close the connection.
 */
bool supervisors_reconnect (struct server *server, struct peer *peer, struct frame *frame);

/* The connection of a rank is closed: it may come back for so many milliseconds (job_absent ()). */
void supervisors_lose (struct server *server, struct peer *peer, int ms);

/* A rank has a connection again (job_returned ()). */
void supervisors_return (struct server *server, struct rank *rank, struct frame *frame);

/* srun has ended. */
void supervisors_cut (struct server *server);

/*
 * In a rendezvous that is begun again: an entry of the journal, of JOURNAL_LAUNCHED or later. After the last
 * one: none is connected any more.
 */
void supervisors_replay (struct server *server, const struct journal_entry *entry, const struct frame *frame);
void supervisors_revive (struct server *server);

/* Do what is due by now; and when to call it again. */
void supervisors_check (struct server *server);
struct deadline supervisors_next (const struct server *server);

/* With spare tasks: when to call it to see which hosts are silent. */
struct deadline supervisors_look (const struct server *server);

#endif
