/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A time as logs have it: ISO 8601, local, with the zone. Not for a process that was forked from one with
 * threads: the C library has a lock for zones.
 */
#ifndef TF_ISO_TIME_H
#define TF_ISO_TIME_H

#include <time.h>

#define ISO_TIME_SIZE sizeof ("2026-11-25T14:02:11+01:00")

/* Returns buf, which has ISO_TIME_SIZE bytes; "?" if there is no such time. */
const char *iso_time (time_t at, char *buf);

#endif
