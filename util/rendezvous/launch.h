/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The launch: ranks register, and then all are answered, or all are refused.
 */
#ifndef TF_LAUNCH_H
#define TF_LAUNCH_H

#include "journal.h"
#include "server.h"

/* Now; the deadline counts from here. */
void launch_begin (struct server *server);

/* An unauthenticated connection, or a rank without its complete answer, has become ready. */
void launch_receive (struct server *server, struct peer *peer);

/* In a rendezvous that is begun again: JOURNAL_REGISTERED, and JOURNAL_LAUNCHED. -1 and err. */
int launch_replay_registered (struct server *server, const struct journal_entry *entry,
                              const struct frame *frame, struct errtext *err);
int launch_replay_launched (struct server *server, const struct journal_entry *entry, struct errtext *err);

/* Do what is due by now: answer all ranks when all are here, refuse them when their time is over. */
void launch_check (struct server *server);
/* When to call it again. */
struct deadline launch_next (const struct server *server);

#endif
