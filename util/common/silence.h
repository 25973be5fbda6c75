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

#include <stdbool.h>
#include <stdint.h>

#include "second.h"

/*
 * Let the kernel ask the peer, and break the connection when the peer does not answer for `broken_ms`. The
 * connections that a listening socket accepts inherit this.
 */
void silence_watch (int fd, int lost_after, int broken_ms);

/*
 * Milliseconds since the peer's kernel has answered; and, unless NULL, how many segments have come from the
 * peer, with the questions of its kernel, which are no answers. Both are 0 if that is not known, as of a
 * socket that is not TCP.
 */
int silence_ms (int fd, uint32_t *segments);

/* The kernel asks ten times until a peer is lost, but not more often than necessary. */
#define SILENCE_MOST_INTERVAL 5
/* What a supervisor needs to kill its task. */
#define SILENCE_KILL_S 1

/* How often the kernel asks, in seconds. */
static inline int silence_interval (int lost_after)
{
    int interval = lost_after / 10;

    if (interval < 1)
        return 1;
    return interval < SILENCE_MOST_INTERVAL ? interval : SILENCE_MOST_INTERVAL;
}

/* A peer that is silent for so long has not answered once or twice. */
static inline int64_t silence_asked_ms (int lost_after)
{
    return 2 * silence_interval (lost_after) * SECOND_MS;
}

/*
 * After how many milliseconds a silent peer is lost to the rendezvous: each end may have heard last from the
 * other one an interval before the connection was cut.
 */
static inline int64_t silence_verdict_ms (int lost_after)
{
    return silence_asked_ms (lost_after) + (lost_after + SILENCE_KILL_S) * SECOND_MS;
}

/* A peer that is silent for longer is named silent. */
static inline int64_t silence_long_ms (int lost_after)
{
    return silence_asked_ms (lost_after) + SECOND_MS;
}

/* After how many milliseconds users are told of a silent peer. */
static inline int64_t silence_told_ms (int lost_after)
{
    int64_t third = lost_after * SECOND_MS / 3, least = silence_long_ms (lost_after);

    return third > least ? third : least;
}

#endif
