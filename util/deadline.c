/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "deadline.h"

#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Its name where a long has 32 bits. */
#ifndef SYS_clock_gettime64
#define SYS_clock_gettime64 SYS_clock_gettime
#endif

/*
 * The kernel is asked: a process of ours asks a few times, and the C library would first find
 * and touch the page where the kernel shows its clock.
 */
static int64_t _now_ms (void)
{
    struct {
        int64_t sec, nsec;      /* the kernel's, in either */
    } now;

    syscall (SYS_clock_gettime64, CLOCK_MONOTONIC, &now);
    return now.sec * 1000 + now.nsec / 1000000;
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

    if (deadline.at_ms == INT64_MAX)
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
