/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the unit tests share. Each program links unit.c, whose main () runs all tests of the file.
 */
#ifndef TF_UNIT_H
#define TF_UNIT_H

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

/*
 * TEST (name) { ... } is a test. It runs because it is there: a constructor registers it before main ().
 * The constructors' priorities are the numbers of their lines, so tests run in the order of the file.
 */
/* clang-format off */
#define TEST(name) \
    static void name (void **unused); \
    UNIT_REGISTER (name) { unit_add (#name, name, NULL); } \
    static void name (void **unused __attribute__ ((unused)))
/* clang-format on */

/* What runs before and after each test below this line, and before and after all; NULL for nothing. */
#define EACH_TEST(setup, teardown) \
    UNIT_REGISTER (each) \
    { \
        unit_each (setup, teardown); \
    }
#define ALL_TESTS(setup, teardown) \
    UNIT_REGISTER (all) \
    { \
        unit_all (setup, teardown); \
    }

/* A function that runs before main (). Priorities up to 100 belong to the compiler. */
#define UNIT_REGISTER(what) static void __attribute__ ((constructor (101 + __LINE__))) register_##what (void)

void unit_add (const char *name, CMUnitTestFunction function, void *state);
void unit_each (CMFixtureFunction setup, CMFixtureFunction teardown);
void unit_all (CMFixtureFunction setup, CMFixtureFunction teardown);

/* Run all tests, for the main () of a program that has one of its own. Returns how many have failed. */
int unit_run (void);

/* Skip the test and print the reason; cmocka counts it as skipped. */
#define SKIP(reason) \
    do { \
        print_message ("skipped: %s\n", reason); \
        skip (); \
    } while (0)

/* cmocka 2 has other names for its own than cmocka 1. */
#define assert_between(value, low, high) \
    assert_true ((long long)(value) >= (low) && (long long)(value) <= (high))

/* Wait until the condition is true; it is an error if it is not within 20 s. */
#define AWAIT(condition) \
    for (int ms_ = 0; !(condition); poll (NULL, 0, 1)) \
    assert_true (ms_++ < 20000)

static inline bool is_under_valgrind (void)
{
    const char *preload = getenv ("LD_PRELOAD");

    return preload && strstr (preload, "vgpreload");
}

/*
 * Check each line of a golden file that is neither empty nor a comment. Returns how many there are.
 * The function may change the text.
 */
int check_golden_file (const char *path, void (*check_line) (char *text, int number));

/* Cut the next field off such a line; fields are separated by |. It has no blanks around it. */
char *golden_field (char **rest);

/* The path of a file with this text, the same one in each call. It is removed after the tests. */
const char *file_with (const char *text);

/* A new, empty directory; the path is valid until the next call. All of them are removed after the tests. */
const char *new_directory (void);

/* "DIRECTORY/NAME"; the last four results are valid. */
const char *path_in (const char *directory, const char *name);

/* Make a file of this text, or replace its text. */
void write_file (const char *path, const char *text);

/* The text of a file, until the next call; "" if there is none. */
char *file_text (const char *path);

/* A pipe that takes nothing more, with so many bytes in it. Its end for reading does not wait. */
size_t full_pipe (int fds[2]);

/* The number that the next descriptor will get. */
int next_descriptor (void);

/* 'S', 'T', 'Z' and so on, as in /proc; '-' if there is no such process. */
char process_state (pid_t pid);

/* Wait for the end of this child. Returns its status, which is 0 after exit (0). */
int end_of (pid_t pid);

/* A line that is made of parts. */
struct line {
    char text[256];
};

void line_add (struct line *line, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

/* True if the text is one non-empty line of printable ASCII, as every error message must be. */
static inline bool is_line (const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p < 0x20 || *p > 0x7e)
            return false;
    return text[0] != '\0';
}

#endif
