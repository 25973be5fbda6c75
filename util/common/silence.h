/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How long the peer of a TCP connection has been silent, if a node that is silent for `lost_after` seconds
 * is to be given up. The kernel asks the peer's kernel every few seconds, so neither program has to send
 * anything, and one that is stopped or busy is not silent.
 *
 * Both ends watch. A supervisor that does not hear from the rendezvous for `lost_after` seconds ends its
 * task; the rendezvous, which may have heard last of it some seconds earlier than the supervisor of the
 * rendezvous, gives the task's place away when silence_verdict_ms () is over. So a task whose place is
 * given away has ended before, also where no order can reach it.
 */
#ifndef TF_SILENCE_H
#define TF_SILENCE_H

/*
 * Let the kernel ask the peer, and break the connection when the peer does not answer for `broken_ms`. The
 * connections that a listening socket accepts inherit this.
 */
void silence_watch (int fd, int lost_after, int broken_ms);

/*
 * Milliseconds since the peer's kernel has answered; 0 if that is not known, as of a socket that is not
 * TCP.
 */
int silence_ms (int fd);

/* After how many milliseconds a silent peer is lost to the rendezvous. */
int silence_verdict_ms (int lost_after);

/* How often the kernel asks, in seconds. */
int silence_interval (int lost_after);

#endif
