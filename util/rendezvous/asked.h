/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-status asks (protocol/overview.h). The answer is given by a child: its memory is the state of that
 * moment, and whatever an asker does keeps only the child waiting, which ends after ASKED_MS. tf-rendezvous
 * itself accepts no connection, reads no byte and gets no descriptor. It starts one child at a time, and
 * the next one not before ASKED_PAUSE_MS after that, so that a flood of questions costs little. Without a
 * socket there are no answers, and nothing else is different.
 */
#ifndef TF_ASKED_H
#define TF_ASKED_H

/* What a child has for all askers that are waiting. */
#define ASKED_MS 2000
#define ASKED_PAUSE_MS 200

struct server;

/* Listen, on the epoll instance of the server's peers. The data.ptr of its events is &server->asked. */
void asked_begin (struct server *server);

/* An event. */
void asked_receive (struct server *server);

/* What is due at server->asked.again. */
void asked_check (struct server *server);

void asked_end (struct server *server);

#endif
