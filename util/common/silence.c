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

#include "tcp.h"

/* The kernel asks ten times until a peer is lost, but not more often than necessary. */
#define MOST_INTERVAL 5
/* As many as the kernel allows: the connection breaks when `broken_ms` are over. */
#define MOST_QUESTIONS 127
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
    int interval = silence_interval (lost_after);

    tcp_ask (fd, interval, interval, MOST_QUESTIONS, (unsigned int)broken_ms);
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
