/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "silence.h"

#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "tcp.h"

/* As many as the kernel allows: the connection breaks when `broken_ms` are over. */
#define MOST_QUESTIONS 127

void silence_watch (int fd, int lost_after, int broken_ms)
{
    int interval = silence_interval (lost_after);

    tcp_ask (fd, interval, interval, MOST_QUESTIONS, (unsigned int)broken_ms);
}

int silence_ms (int fd, uint32_t *segments)
{
    struct tcp_info info = { 0 };
    socklen_t length = sizeof (info);
    uint32_t ms;

    if (getsockopt (fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
        memset (&info, 0, sizeof (info));
    if (segments)
        *segments = info.tcpi_segs_in;
    ms = info.tcpi_last_ack_recv;
    if (info.tcpi_last_data_recv < ms)
        ms = info.tcpi_last_data_recv;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}
