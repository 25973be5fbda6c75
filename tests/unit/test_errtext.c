/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "common/errtext.h"

TEST (a_users_text_is_quoted_and_escaped)
{
    static const struct {
        const char *text, *quoted;
    } row[] = {
        { "", "" },
        { "ps,worker:2", "ps,worker:2" },
        { "a b~", "a b~" },
        { "\033[31mred", "\\x1b[31mred" },
        { "two\nlines\r", "two\\x0alines\\x0d" },
        { "\x7f\x80\xff", "\\x7f\\x80\\xff" },
        { "\xc3\xa9", "\\xc3\\xa9" },
    };
    struct quoted room;

    for (size_t i = 0; i < COUNT (row); i++) {
        assert_ptr_equal (text_quoted (&room, row[i].text, strlen (row[i].text)), room.text);
        assert_string_equal (room.text, row[i].quoted);
    }
    assert_string_equal (text_quoted (&room, "a\0b", 3), "a\\x00b");
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
