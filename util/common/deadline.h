/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A point in time at which a wait ends.
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

/* The earlier of the two. */
struct deadline deadline_min (struct deadline a, struct deadline b);

/*
 * The time that is left, as poll () and epoll_wait () take it: in milliseconds; 0 if the deadline
 * has passed, -1 if it never passes.
 */
int deadline_left_ms (struct deadline deadline);

/* False for deadline_never (). */
bool deadline_is_set (struct deadline deadline);

bool deadline_passed (struct deadline deadline);

/* Wait for one of these events of poll (); signals do not end that. False if the deadline comes before. */
bool deadline_wait (int fd, short events, struct deadline deadline);

#endif
