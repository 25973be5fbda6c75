/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * TCP connections: how they begin, are kept and end.
 */
#ifndef TF_TCP_H
#define TF_TCP_H

#include "address.h"
#include "deadline.h"

/*
 * Begin to connect. Returns a non-blocking, close-on-exec socket, on which POLLOUT shows that
 * tcp_connect_end () knows the result; -1 and errno if it has failed already. tcp_keep_alive () is done.
 * Without `acknowledges` it is learnt only whether there is an answer: Linux waits with the last packet of
 * the handshake for 0.2 s, and if tcp_abort () is called before, what listens there never sees a connection.
 */
int tcp_connect_begin (const struct address *to, int port, bool acknowledges);

/* 0, or the errno of the attempt to connect. The socket stays open. */
int tcp_connect_end (int fd);

/* Both. -1 and errno, ETIMEDOUT if the deadline has passed before. */
int tcp_connect (const struct address *to, int port, struct deadline deadline);

/*
 * When nothing has come for `idle` seconds, let the kernel ask the peer, each `interval` seconds. It
 * breaks the connection when `count` questions have no answer, or what was sent is not acknowledged
 * for `broken_ms`.
 */
void tcp_ask (int fd, int idle, int interval, int count, unsigned int broken_ms);

#define TCP_BROKEN_MS 60000

/*
 * Detect within a minute that the peer is gone although it did not close the connection: its host crashed, or
 * a firewall dropped the connection; within `broken_ms` if data is on its way. Connections that a listening
 * socket accepts inherit this.
 */
void tcp_keep_alive (int fd, unsigned int broken_ms);

/*
 * Close the socket and send RST, so that neither host keeps the connection in TIME_WAIT and a
 * small port range does not run out. The peer can still read what its kernel has received, but
 * data that it has not acknowledged is lost: call this when the exchange is complete. If other
 * processes have the descriptor too, the last one that closes it sends RST.
 */
void tcp_abort (int fd);

#endif
