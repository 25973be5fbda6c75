/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The time of day of a moment (job/moment.h), for what is told.
 */
#ifndef TF_WALL_CLOCK_H
#define TF_WALL_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

time_t wall_clock (int64_t moment);

/* "14:03:11". Returns buf; "?" if there is no such time. */
const char *wall_clock_print (int64_t moment, char *buf, size_t size);

#endif
