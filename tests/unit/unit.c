/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

    make_scratch ();
    snprintf (path, sizeof (path), "%s/file", scratch);
    write_file (path, text);
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

const char *path_in (const char *directory, const char *name)
{
    static char path[4][PATH_MAX];
    static int next;

    next = (next + 1) % 4;
    assert_true (snprintf (path[next], sizeof (path[0]), "%s/%s", directory, name) < PATH_MAX);
    return path[next];
}

void write_file (const char *path, const char *text)
{
    FILE *file = fopen (path, "we");

    assert_non_null (file);
    assert_true (fputs (text, file) >= 0 && fclose (file) == 0);
}

char *file_text (const char *path)
{
    static char *text;
    static size_t size;
    FILE *file = fopen (path, "re");

    if (!file || getdelim (&text, &size, '\0', file) < 0)
        text = strcpy (realloc (text, size = 1), "");
    if (file)
        fclose (file);
    return text;
}

size_t full_pipe (int fds[2])
{
    size_t filled = 0;

    assert_int_equal (pipe2 (fds, O_NONBLOCK), 0);
    while (write (fds[1], "x", 1) == 1)
        filled++;
    fcntl (fds[1], F_SETFL, 0);
    return filled;
}

int next_descriptor (void)
{
    int fd = dup (STDIN_FILENO);

    close (fd);
    return fd;
}

char process_state (pid_t pid)
{
    char name[32], state = '-';
    const char *name_end;

    snprintf (name, sizeof (name), "/proc/%d/stat", (int)pid);
    if ((name_end = strrchr (file_text (name), ')')))
        state = name_end[2];
    return state;
}

int end_of (pid_t pid)
{
    int status;

    assert_int_equal (waitpid (pid, &status, 0), pid);
    return status;
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
