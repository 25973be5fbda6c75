/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <limits.h>

#include "common/number.h"

TEST (number_scan_stops_after_the_digits)
{
    static const struct {
        const char *text;
        int number;
        const char *rest;
    } row[] = {
        { "12,3", 12, ",3" }, { "0", 0, "" },       { "007-", 7, "-" },
        { "100", 100, "" },   { "101x", 101, "x" }, { "99999999999999999999999999 ", 101, " " },
        { "", -1, "" },       { "-1", -1, "-1" },   { " 1", -1, " 1" },
        { "x", -1, "x" },     { "1000", 101, "" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        const char *text = row[i].text;

        assert_int_equal (number_scan (&text, 100), row[i].number);
        assert_string_equal (text, row[i].rest);
    }
}
