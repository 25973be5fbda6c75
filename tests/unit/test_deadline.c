/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <limits.h>
#include <poll.h>

#include "common/deadline.h"

TEST (deadline_never_does_not_pass)
{
    assert_int_equal (deadline_left_ms (deadline_never ()), -1);
    assert_false (deadline_passed (deadline_never ()));
}

TEST (every_other_deadline_is_set)
{
    assert_false (deadline_is_set (deadline_never ()));
    assert_true (deadline_is_set (deadline_in_ms (1000)));
    assert_true (deadline_is_set (deadline_in_ms (0)));
}

TEST (a_deadline_of_now_or_earlier_has_passed)
{
    assert_true (deadline_passed (deadline_in_ms (0)));
    assert_true (deadline_passed (deadline_in_ms (-5000)));
    assert_int_equal (deadline_left_ms (deadline_in_ms (-5000)), 0);
}

TEST (waiting_for_the_time_left_reaches_the_deadline)
{
    struct deadline deadline = deadline_in_ms (30);

    assert_false (deadline_passed (deadline));
    assert_between (deadline_left_ms (deadline), 1, 30);
    poll (NULL, 0, deadline_left_ms (deadline));
    assert_true (deadline_passed (deadline));
}

TEST (the_time_left_is_at_most_int_max)
{
    assert_int_equal (deadline_left_ms (deadline_in_ms (INT64_C (1) << 40)), INT_MAX);
}

TEST (deadline_min_returns_the_earlier_deadline)
{
    struct deadline a = deadline_in_ms (1000), b = deadline_in_ms (2000);

    assert_int_equal (deadline_min (a, b).at_ms, a.at_ms);
    assert_int_equal (deadline_min (b, a).at_ms, a.at_ms);
    assert_int_equal (deadline_min (deadline_never (), b).at_ms, b.at_ms);
}
