/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "silence.h"

#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>

/* The kernel asks ten times until a peer is lost, but not more often than necessary. */
#define MOST_INTERVAL 5
/* What a supervisor needs to kill its task. */
#define KILL_S 1

int silence_interval (int lost_after)
{
    int interval = lost_after / 10;

    if (interval < 1)
        return 1;
    return interval < MOST_INTERVAL ? interval : MOST_INTERVAL;
}

/* Each end may have heard last from the other one an interval before the connection was cut. */
int silence_verdict_ms (int lost_after)
{
    int64_t ms = (lost_after + 2 * silence_interval (lost_after) + KILL_S) * INT64_C (1000);

    return ms < INT_MAX ? (int)ms : INT_MAX;
}

void silence_watch (int fd, int lost_after, int broken_ms)
{
    int on = 1, interval = silence_interval (lost_after), count = 127;
    unsigned int broken = (unsigned int)broken_ms;

    setsockopt (fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof (on));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof (interval));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof (interval));
    setsockopt (fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof (count));
    setsockopt (fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &broken, sizeof (broken));
}

int silence_ms (int fd)
{
    struct tcp_info info = { 0 };
    socklen_t length = sizeof (info);
    uint32_t ms;

    if (getsockopt (fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
        return 0;
    ms = info.tcpi_last_ack_recv;
    if (info.tcpi_last_data_recv < ms)
        ms = info.tcpi_last_data_recv;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}
