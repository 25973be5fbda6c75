/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <limits.h>

#include "common/iso_time.h"

static void check (const char *zone, time_t at, const char *expected)
{
    char buf[ISO_TIME_SIZE];

    setenv ("TZ", zone, 1);
    tzset ();
    assert_string_equal (iso_time (at, buf), expected);
}

TEST (a_time_has_its_zone)
{
    check ("UTC0", 1795619737, "2026-11-25T15:15:37+00:00");
    check ("CET-1", 1795619737, "2026-11-25T16:15:37+01:00");
    check ("MART9:30", 1795619737, "2026-11-25T05:45:37-09:30");
}

TEST (a_time_that_cannot_be_printed_is_a_question_mark)
{
    check ("UTC0", (time_t)LONG_MAX, "?");
    check ("UTC0", INT64_C (999999999999), "?");
}
