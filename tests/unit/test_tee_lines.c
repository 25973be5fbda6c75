/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "supervise/tee_lines.h"

static struct tee_lines lines;
static char *got;
static size_t got_length;

static void take (void *arg, const char *bytes, size_t length)
{
    assert_ptr_equal (arg, &got);
    assert_non_null (got = realloc (got, got_length + length + 1));
    memcpy (got + got_length, bytes, length);
    got[got_length += length] = '\0';
}

static int begin (void **unused)
{
    (void)unused;
    tee_lines_init (&lines, "w 1: ", take, &got);
    free (got);
    got = calloc (1, 1);
    got_length = 0;
    return 0;
}

EACH_TEST (begin, NULL)

static void add (const char *text)
{
    tee_lines_add (&lines, text, strlen (text));
}

/* What has been passed on since the last call. */
static void expect (const char *text)
{
    assert_string_equal (got, text);
    got_length = 0;
    *got = '\0';
}

TEST (each_line_has_the_name_before_it)
{
    add ("one\ntwo\n\nfour\n");
    expect ("w 1: one\nw 1: two\nw 1: \nw 1: four\n");
}

TEST (a_line_is_held_back_until_it_is_complete)
{
    add ("on");
    expect ("");
    add ("e");
    expect ("");
    add ("\ntw");
    expect ("w 1: one\n");
    add ("o\n");
    expect ("w 1: two\n");
    tee_lines_end (&lines);
    expect ("");
}

TEST (a_last_line_gets_a_newline)
{
    add ("one");
    tee_lines_end (&lines);
    expect ("w 1: one\n");
    tee_lines_end (&lines);
    expect ("");
    add ("two\n");
    expect ("w 1: two\n");
}

TEST (a_carriage_return_ends_a_line)
{
    add ("\r 10%\r 20%");
    expect ("w 1:  10%\n");
    add ("\r");
    expect ("w 1:  20%\n");
    add ("\n");
    expect ("");
    add ("\r\n");
    expect ("w 1: \n");
    add ("one\r\ntwo\r\r\n\r\n\nx\r");
    expect ("w 1: one\nw 1: two\nw 1: \nw 1: \nw 1: x\n");
    add ("y\n");
    expect ("w 1: y\n");
}

TEST (a_nul_is_a_byte_like_any_other)
{
    tee_lines_add (&lines, "a\0b\n", 4);
    assert_int_equal (got_length, 9);
    assert_memory_equal (got, "w 1: a\0b\n", 9);
}

TEST (a_long_line_is_passed_on_and_stays_one_line)
{
    static char text[TEE_LINES_HELD + 1];

    memset (text, 'x', sizeof (text));
    tee_lines_add (&lines, text, TEE_LINES_HELD);
    expect ("");
    tee_lines_add (&lines, "y", 1);
    assert_int_equal (got_length, 5 + TEE_LINES_HELD + 1);
    assert_memory_equal (got, "w 1: xxx", 8);
    assert_memory_equal (got + got_length - 2, "xy", 2);
    got_length = 0;
    add ("more");
    expect ("more");
    add ("end\nnext\n");
    expect ("end\nw 1: next\n");
    tee_lines_add (&lines, text, TEE_LINES_HELD);
    add ("y");
    got_length = 0;
    tee_lines_end (&lines);
    expect ("\n");
}
