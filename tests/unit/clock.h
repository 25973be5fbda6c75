/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A clock of the test: time passes when now_ms does. For the only source file of a program, which is linked
 * with --wrap=clock_gettime.
 */
#ifndef TF_CLOCK_H
#define TF_CLOCK_H

#include <stdint.h>
#include <time.h>

static _Atomic int64_t now_ms = 1000;

int __real_clock_gettime (clockid_t clock, struct timespec *now);
int __wrap_clock_gettime (clockid_t clock, struct timespec *now);

int __wrap_clock_gettime (clockid_t clock, struct timespec *now)
{
    int64_t ms = now_ms;

    if (clock != CLOCK_MONOTONIC)
        return __real_clock_gettime (clock, now);
    *now = (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    return 0;
}

#endif
