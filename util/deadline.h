/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A moment on the monotonic clock by which a wait ends.
 */
#ifndef TF_DEADLINE_H
#define TF_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct deadline {
    int64_t at_ms;      /* CLOCK_MONOTONIC, milliseconds */
};

struct deadline deadline_in_ms (int64_t ms);

struct deadline deadline_never (void);

/* The earlier of two. */
struct deadline deadline_min (struct deadline a, struct deadline b);

/*
 * What is left, as poll() and epoll_wait() take it: milliseconds, rounded up so that a wait
 * does not end early; 0 when it has passed, -1 for never.
 */
int deadline_left_ms (struct deadline deadline);

bool deadline_passed (struct deadline deadline);

#endif
