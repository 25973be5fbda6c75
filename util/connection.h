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
 * What comes next is acknowledged with what is said next, or some 40 ms later: who speaks first
 * and gets an answer sends fewer packets. Of a socket that is connected then, the connection
 * is opened with the first bytes; connecting undoes it.
 */
void connection_acknowledge_late (int fd);

/* What comes next is acknowledged when it comes, and not with what is said next. */
void connection_acknowledge_soon (int fd);

/*
 * Close it when both ends have read all there was to say. The other end sees a reset, and
 * neither host goes on to keep its ports and a timer for a minute. Of a shared descriptor the
 * last who closes it resets the connection.
 */
void connection_close (int fd);

#endif
