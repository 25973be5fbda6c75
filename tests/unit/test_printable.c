/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "common/errtext.h"
#include "common/printable.h"

static const struct row {
    const char *text, *line;
} row[] = {
    { "", "" },
    { "worker 3 on n1", "worker 3 on n1" },
    /* UTF-8 of two, three and four bytes; Persian needs its joiners. */
    { "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x80\x8c",
      "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x80\x8c" },
    /* Control characters. */
    { "\33]0;title\a", " ]0;title " },
    { "a\tb\rc\bd\x7f", "a b c d " },
    { "x\nsrun: error: y", "x srun: error: y" },
    { "\xc2\x9b"
      "31m \xc2\x80 \xc2\x9f \xc2\xa0",
      "?31m ? ? \xc2\xa0" },
    /* From right to left, and other lines. */
    { "\xe2\x80\xae"
      "a\xe2\x80\x8f \xd8\x9c \xe2\x81\xa6",
      "?a? ? ?" },
    { "\xe2\x80\xa8 \xe2\x80\xa9 \xe2\x80\xa7", "? ? \xe2\x80\xa7" },
    /* Not UTF-8: alone, cut, too long, a surrogate, too high. */
    { "\x9b"
      "31m \xff",
      "?31m ?" },
    { "\xc3", "?" },
    { "\xe2\x82x", "??x" },
    { "\xf0\x9f\x98", "???" },
    { "\xc0\x8a \xe0\x80\x8a \xf0\x80\x80\x8a", "?? ??? ????" },
    { "\xed\xa0\x80", "???" },
    { "\xf4\x90\x80\x80 \xf8\x88\x80\x80\x80", "???? ?????" },
};

TEST (a_line_has_nothing_that_a_terminal_obeys)
{
    for (size_t i = 0; i < COUNT (row); i++) {
        char text[64];

        strcpy (text, row[i].text);
        printable_make_line (text);
        assert_string_equal (text, row[i].line);
    }
}

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
