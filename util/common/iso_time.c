/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "iso_time.h"

#include <stdio.h>
#include <string.h>

#define LOCAL_SIZE sizeof ("2026-11-25T14:02:11")

const char *iso_time (time_t at, char *buf)
{
    char zone[sizeof ("+0100")];
    struct tm tm;

    if (!localtime_r (&at, &tm) || strftime (buf, LOCAL_SIZE, "%Y-%m-%dT%H:%M:%S", &tm) != LOCAL_SIZE - 1
        || strftime (zone, sizeof (zone), "%z", &tm) != sizeof (zone) - 1)
        return strcpy (buf, "?");
    snprintf (buf + LOCAL_SIZE - 1, ISO_TIME_SIZE - LOCAL_SIZE + 1, "%.3s:%s", zone, zone + 3);
    return buf;
}
