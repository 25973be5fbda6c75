/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <sys/stat.h>

static struct CMUnitTest *tests;
static size_t count;
static CMFixtureFunction each_setup, each_teardown, all_setup, all_teardown;
static char scratch[] = "/tmp/test.XXXXXX";
static bool has_scratch;

static void make_scratch (void)
{
    if (!has_scratch && (!mkdtemp (scratch) || chmod (scratch, 0755) < 0))
        abort ();
    has_scratch = true;
}

static void remove_scratch (void)
{
    char command[128];

    snprintf (command, sizeof (command), "chmod -R u+rwx %s && rm -r %s", scratch, scratch);
    if (has_scratch && system (command) != 0)
        fprintf (stderr, "%s is left\n", scratch);
}

void unit_add (const char *name, CMUnitTestFunction function, void *state)
{
    struct CMUnitTest *longer = realloc (tests, (count + 1) * sizeof (*tests));

    if (!longer)
        abort ();
    tests = longer;
    tests[count++] = (struct CMUnitTest){ name, function, each_setup, each_teardown, state };
}

void unit_each (CMFixtureFunction setup, CMFixtureFunction teardown)
{
    each_setup = setup;
    each_teardown = teardown;
}

void unit_all (CMFixtureFunction setup, CMFixtureFunction teardown)
{
    all_setup = setup;
    all_teardown = teardown;
}

int check_golden_file (const char *path, void (*check_line) (char *text, int number))
{
    FILE *file = fopen (path, "re");
    char text[256];
    int checked = 0;

    assert_non_null (file);
    for (int number = 1; fgets (text, sizeof (text), file); number++)
        if (text[0] != '#' && text[0] != '\n') {
            check_line (text, number);
            checked++;
        }
    fclose (file);
    return checked;
}

char *golden_field (char **rest)
{
    char *field = strsep (rest, "|");

    assert_non_null (field);
    field += strspn (field, " ");
    for (char *end = field + strlen (field); end > field && strchr (" \n", end[-1]); end--)
        end[-1] = '\0';
    return field;
}

const char *file_with (const char *text)
{
    static char path[64];
    FILE *f;

    make_scratch ();
    snprintf (path, sizeof (path), "%s/file", scratch);
    assert_non_null (f = fopen (path, "w"));
    fputs (text, f);
    fclose (f);
    return path;
}

const char *new_directory (void)
{
    static char path[64];
    static int number;

    make_scratch ();
    snprintf (path, sizeof (path), "%s/%d", scratch, number++);
    if (mkdir (path, 0755) < 0)
        abort ();
    return path;
}

void line_add (struct line *line, const char *fmt, ...)
{
    size_t used = strlen (line->text);
    va_list ap;

    va_start (ap, fmt);
    assert_true (vsnprintf (line->text + used, sizeof (line->text) - used, fmt, ap)
                 < (int)(sizeof (line->text) - used));
    va_end (ap);
}

int unit_run (void)
{
    int failed = _cmocka_run_group_tests ("tests", tests, count, all_setup, all_teardown);

    remove_scratch ();
    return failed;
}

int __attribute__ ((weak)) main (void)
{
    return unit_run ();
}
