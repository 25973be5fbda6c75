/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Options of TCP connections.
 */
#ifndef TF_TCP_H
#define TF_TCP_H

/*
 * Detect within a minute that the peer is gone although it did not close the connection: its host
 * crashed, or a firewall dropped the connection. Connections that a listening socket accepts
 * inherit this.
 */
void tcp_keep_alive (int fd);

/*
 * Close the socket and send RST, so that neither host keeps the connection in TIME_WAIT and a
 * small port range does not run out. The peer can still read what its kernel has received, but
 * data that it has not acknowledged is lost: call this when the exchange is complete. If other
 * processes have the descriptor too, the last one that closes it sends RST.
 */
void tcp_abort (int fd);

#endif
