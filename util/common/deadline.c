/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "deadline.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>

static int64_t _now_ms (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct deadline deadline_in_ms (int64_t ms)
{
    return (struct deadline){ .at_ms = _now_ms () + ms };
}

struct deadline deadline_never (void)
{
    return (struct deadline){ .at_ms = INT64_MAX };
}

struct deadline deadline_min (struct deadline a, struct deadline b)
{
    return a.at_ms < b.at_ms ? a : b;
}

int deadline_left_ms (struct deadline deadline)
{
    int64_t left;

    if (!deadline_is_set (deadline))
        return -1;
    left = deadline.at_ms - _now_ms ();
    if (left <= 0)
        return 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

bool deadline_passed (struct deadline deadline)
{
    return deadline_left_ms (deadline) == 0;
}

bool deadline_is_set (struct deadline deadline)
{
    return deadline.at_ms != INT64_MAX;
}

bool deadline_wait (int fd, short events, struct deadline deadline)
{
    struct pollfd pfd = { .fd = fd, .events = events };
    int n;

    do
        n = poll (&pfd, 1, deadline_left_ms (deadline));
    while ((n < 0 && errno == EINTR) || (n == 0 && !deadline_passed (deadline)));
    return n > 0;
}
