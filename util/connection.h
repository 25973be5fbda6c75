/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What TCP does besides carrying bytes.
 */
#ifndef TF_CONNECTION_H
#define TF_CONNECTION_H

/*
 * Its other end may be gone without a word: the host crashed, a firewall forgot it. Notice that
 * within a minute. Connections that a listening socket accepts inherit this.
 */
void connection_keep_alive (int fd);

/*
 * What comes next is acknowledged with what is said next, or alone some 40 ms later. Called before
 * connect (), it keeps the handshake's last packet back for what is said first (for 200 ms);
 * connecting undoes it, and for what comes then it is called again.
 */
void connection_acknowledge_late (int fd);

/* What comes next is acknowledged when it comes, and not with what is said next. */
void connection_acknowledge_soon (int fd);

/*
 * Close it when all there was to say has been read here, and at the other end read or at least
 * acknowledged: a reset leaves to be read what was received before. The other end sees a reset, and
 * neither host goes on to keep its ports and a timer for a minute. Of a shared descriptor the
 * last who closes it resets the connection.
 */
void connection_close (int fd);

#endif
