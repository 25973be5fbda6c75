/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <limits.h>

#include "common/number.h"

TEST (a_text_of_digits_is_a_number)
{
    static const struct {
        const char *text;
        int low, high, number;
    } row[] = {
        { "0", 0, 0, 0 },
        { "7", 1, 10, 7 },
        { "10", 1, 10, 10 },
        { "0010", 1, 10, 10 },
        { "2147483647", 0, INT_MAX, INT_MAX },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        int number = -7;

        assert_int_equal (number_parse (&number, row[i].text, row[i].low, row[i].high), 0);
        assert_int_equal (number, row[i].number);
    }
}

TEST (other_text_is_refused_and_the_number_stays_unchanged)
{
    static const char *const row[] = {
        "",   " 1",  "1 ",         "+1",         "-1",
        "1a", "a",   "0x1",        "1.0",        "0",
        "11", "1,2", "2147483648", "4294967297", "99999999999999999999999999",
    };
    int number = -7;

    for (size_t i = 0; i < COUNT (row); i++)
        if (number_parse (&number, row[i], 1, 10) != -1)
            fail_msg ("\"%s\" was accepted as a number", row[i]);
    assert_int_equal (number_parse (&number, NULL, 1, 10), -1);
    assert_int_equal (number_parse (&number, "2147483648", 0, INT_MAX), -1);
    assert_int_equal (number, -7);
}

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
        { "x", -1, "x" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        const char *text = row[i].text;

        assert_int_equal (number_scan (&text, 100), row[i].number);
        assert_string_equal (text, row[i].rest);
    }
}
