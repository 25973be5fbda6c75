/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "wall_clock.h"

#include <stdio.h>

#include "common/deadline.h"

time_t wall_clock (int64_t moment)
{
    struct timespec now;
    int64_t ago = deadline_in_ms (-moment).at_ms, ms;

    clock_gettime (CLOCK_REALTIME, &now);
    ms = now.tv_sec * INT64_C (1000) + now.tv_nsec / 1000000 - ago;
    return (time_t)(ms / 1000);
}

const char *wall_clock_print (int64_t moment, char *buf, size_t size)
{
    time_t at = wall_clock (moment);
    struct tm tm;

    if (!localtime_r (&at, &tm) || strftime (buf, size, "%H:%M:%S", &tm) == 0)
        snprintf (buf, size, "?");
    return buf;
}
