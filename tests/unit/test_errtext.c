/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "common/errtext.h"
#include "common/printable.h"

TEST (lines_stay_lines)
{
    char text[] = "one\ntwo\33[A\r\n\nthree";

    printable_make_lines (text);
    assert_string_equal (text, "one\ntwo [A \n\nthree");
}

TEST (an_error_is_one_line_and_may_be_cut_within_a_character)
{
    struct errtext err;
    char text[2010] = "";

    errtext_set (&err, "%s: cannot open it", "/tmp/\33[2J\nsrun: error: all is well");
    assert_string_equal (err.text, "/tmp/ [2J srun: error: all is well: cannot open it");
    for (size_t i = 0; i < 1999; i += 3)
        strcat (text, "\xe2\x82\xac");
    errtext_set (&err, "x%s", text);
    assert_int_equal (strlen (err.text), sizeof (err.text) - 1);
    assert_string_equal (err.text + sizeof (err.text) - 5, "\x82\xac??");
    errtext_set (&err, "%s", text + 1);
    assert_int_equal (strspn (err.text, "?"), 2);
}

TEST (a_quotation_has_as_many_bytes_as_it_is_told)
{
    struct quoted room;

    assert_ptr_equal (text_quoted (&room, "a\0b", 3), room.text);
    assert_string_equal (room.text, "a\\x00b");
    assert_string_equal (text_quoted (&room, "worker", 4), "work");
}

TEST (a_quotation_is_truncated_to_its_buffer)
{
    struct quoted room;
    char text[300];

    for (int c = 1; c < 256; c += 127)
        for (size_t length = 0; length < sizeof (text); length++) {
            memset (text, c, sizeof (text));
            text_quoted (&room, text, length);
            assert_true (strlen (room.text) < sizeof (room.text));
            assert_true (length == 0 || is_line (room.text));
        }
    memset (text, 'w', sizeof (text));
    text_quoted (&room, text, 89);
    assert_null (strstr (room.text, "..."));
    assert_int_equal (strlen (room.text), 89);
    text_quoted (&room, text, sizeof (text));
    assert_string_equal (room.text + 89, "...");
}
