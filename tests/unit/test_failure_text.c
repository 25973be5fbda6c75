/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/failure_text.h"

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define LONGEST FIFTY FIFTY FIFTY FIFTY

TEST (a_line_becomes_printable_and_is_cut)
{
    static const struct {
        const char *line, *text;
    /* clang-format off */
    } row[] = {
        { "ValueError: shapes (3,) and (4,)", "ValueError: shapes (3,) and (4,)" },
        { "", "" }, { " \t\n\r\v", "" }, { "\x7f", "" }, { "  two \t", "two" },
        { "\x1b[31mred\x1b[0m", "[31mred [0m" }, { "a\tb\x01" "c", "a b c" },
        { "caf\xc3\xa9", "caf?" }, { "\xe4\xb8\xad\xe6\x96\x87!", "??" "!" }, { "\xff\xfe", "??" },
        { "\x80", "" }, { "x \x80", "x" }, { "\x80 x", "x" },
        { LONGEST, LONGEST },
        { LONGEST "x", FIFTY FIFTY FIFTY TEN TEN TEN TEN "0123456..." },
        { LONGEST "    ", LONGEST }, { "   " LONGEST, LONGEST },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct failure_text text;

        memset (&text, 0xff, sizeof (text));
        failure_text_set (&text, FAILURE_TEXT_LOG, row[i].line, strlen (row[i].line));
        assert_string_equal (text.text, row[i].text);
        assert_int_equal (text.source, *row[i].text ? FAILURE_TEXT_LOG : FAILURE_TEXT_NONE);
    }
}

TEST (decoding_returns_the_encoded_text)
{
    static const struct {
        struct failure_text text;
        const char *message;
    } row[] = {
        { { FAILURE_TEXT_NONE, "", { CAUSE_NONE, "" } }, "" },
        { { FAILURE_TEXT_LOG, "out of \"memory\"", { CAUSE_SPACE, "" } },
          "LAST_LINE=out of \"memory\"\nCAUSE=space\n" },
        { { FAILURE_TEXT_ERROR_FILE, LONGEST, { CAUSE_LIBRARY, "libx.so" } },
          "ERROR_MESSAGE=" LONGEST "\nCAUSE=library\nCAUSE_DETAIL=libx.so\n" },
        { { FAILURE_TEXT_STACK, "train.py:20 main", { CAUSE_NONE, "" } }, "STACK=train.py:20 main\n" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = frame_create ();
        struct failure_text decoded;

        memset (&decoded, 0xff, sizeof (decoded));
        failure_text_add (frame, &row[i].text);
        failure_text_decode (&decoded, frame);
        assert_int_equal (decoded.source, row[i].text.source);
        assert_string_equal (decoded.text, row[i].text.text);
        assert_string_equal (message_text (frame), row[i].message);
    }
}

TEST (a_malformed_text_counts_as_missing)
{
    static const char *const row[] = {
        "", " ", " x", "x ", "a\nb", "a\x1b[2Jb", "caf\xc3\xa9", "\x7f", LONGEST "x",
    };

    for (size_t i = 0; i < COUNT (row); i++)
        for (int error = 0; error < 2; error++) {
            struct frame *frame = message_with (NULL, 0, error ? "ERROR_MESSAGE" : "LAST_LINE", row[i]);
            struct failure_text decoded;

            failure_text_decode (&decoded, frame);
            assert_int_equal (decoded.source, FAILURE_TEXT_NONE);
            assert_string_equal (decoded.text, "");
            frame_destroy (frame);
        }
}
