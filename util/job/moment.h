/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A moment is a time of CLOCK_MONOTONIC in milliseconds. No file of this folder reads a clock: the caller
 * says what time it is, and job_due () says when to ask again.
 */
#ifndef TF_MOMENT_H
#define TF_MOMENT_H

#include <stdint.h>

#define NEVER INT64_MAX

static inline int64_t moment_first (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t moment_last (int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A moment that is still to come, or NEVER. */
static inline int64_t moment_ahead (int64_t at, int64_t now)
{
    return at > now ? at : NEVER;
}

#endif
