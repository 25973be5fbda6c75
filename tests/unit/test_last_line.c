/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which files are read; parse.golden has what is found in them. A file system that hangs is simulated:
 * open () and unlink () of the child are wrapped.
 */
#include "config.h"

#include "unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "protocol/supervisor_config.h"
#include "supervise/last_line.h"

static bool hangs;
static pid_t self;

/* A descriptor of this process; and, shared with the child, whether that hangs, and has it too. */
static int mine = -1;
static volatile struct {
    bool hangs, has_mine;
} *child;

static void hang (void)
{
    if (hangs && getpid () != self) {
        child->has_mine = fcntl (mine, F_GETFD) >= 0;
        child->hangs = true;
    }
    while (hangs && getpid () != self)
        poll (NULL, 0, 1000);
}

int __real_open (const char *path, int flags, mode_t mode);
int __wrap_open (const char *path, int flags, mode_t mode);
int __real_unlink (const char *path);
int __wrap_unlink (const char *path);

int __wrap_open (const char *path, int flags, mode_t mode)
{
    hang ();
    return __real_open (path, flags, mode);
}

int __wrap_unlink (const char *path)
{
    hang ();
    return __real_unlink (path);
}

/* Longer than in the program, so that no test depends on the machine's speed; or shorter, at first. */
static int64_t patience_ms = 50;

struct deadline __real_deadline_in_ms (int64_t ms);
struct deadline __wrap_deadline_in_ms (int64_t ms);

struct deadline __wrap_deadline_in_ms (int64_t ms)
{
    return __real_deadline_in_ms (hangs ? patience_ms : 60 * ms);
}

static char log_file[64], error_file[64];

static int clean (void **unused __attribute__ ((unused)))
{
    hangs = false;
    unlink (log_file);
    unlink (error_file);
    return 0;
}

EACH_TEST (NULL, clean)

static int prepare (void **unused __attribute__ ((unused)))
{
    const char *directory;

    /* A wait for the child that does not end would be a defect. */
    alarm (300);
    self = getpid ();
    child = mmap (NULL, sizeof (*child), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (child == MAP_FAILED)
        return -1;
    directory = new_directory ();
    snprintf (log_file, sizeof (log_file), "%s/worker0.log", directory);
    snprintf (error_file, sizeof (error_file), "%s/worker0.error.json", directory);
    return 0;
}

ALL_TESTS (prepare, NULL)

static const struct exit_report failed = { .kind = EXIT_REPORT_EXIT, .number = 1 };
static const struct exit_report hung = { .kind = EXIT_REPORT_HUNG };

static void check (enum failure_text_source source, const char *expected)
{
    struct failure_text text = last_line_read (&failed, log_file, error_file).text;

    assert_string_equal (text.text, expected);
    assert_int_equal (text.source, source);
}

TEST (of_a_program_that_hung_the_stack_is_read)
{
    struct failure_text text;

    write_file (error_file, "{\"message\": {\"message\": \"RuntimeError: NCCL\"}}");
    write_file (log_file, "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
                          "  File \"/tmp/train.py\", line 10 in <module>\n");
    text = last_line_read (&hung, log_file, error_file).text;
    assert_int_equal (text.source, FAILURE_TEXT_STACK);
    assert_string_equal (text.text, "train.py:10 <module>");
    write_file (log_file, "loss 0.3\n");
    assert_int_equal (last_line_read (&hung, log_file, error_file).text.source, FAILURE_TEXT_NONE);
}

TEST (the_error_file_comes_before_the_log_file)
{
    check (FAILURE_TEXT_NONE, "");
    write_file (log_file, "loss 0.3\nTraceback:\nValueError: no\n\n");
    check (FAILURE_TEXT_LOG, "ValueError: no");
    write_file (error_file, "{\"message\": {\"message\": \"RuntimeError: NCCL\"}}");
    check (FAILURE_TEXT_ERROR_FILE, "RuntimeError: NCCL");
    write_file (error_file, "{\"message\": ");
    check (FAILURE_TEXT_LOG, "ValueError: no");
    assert_int_equal (last_line_read (&failed, NULL, error_file).text.source, FAILURE_TEXT_NONE);
    assert_int_equal (last_line_read (&failed, log_file, NULL).text.source, FAILURE_TEXT_LOG);
    assert_int_equal (last_line_read (&failed, NULL, NULL).text.source, FAILURE_TEXT_NONE);
}

TEST (of_a_long_file_only_the_end_is_read)
{
    FILE *file = fopen (log_file, "we");

    for (int i = 0; i < 100000; i++)
        fprintf (file, "step %d\n", i);
    fclose (file);
    check (FAILURE_TEXT_LOG, "step 99999");
    assert_int_equal (truncate (log_file, 1 << 30), 0);
    check (FAILURE_TEXT_NONE, "");
}

TEST (what_is_not_a_file_of_the_user_is_not_read)
{
    int log;

    write_file (error_file, "a line");
    assert_int_equal (symlink (error_file, log_file), 0);
    check (FAILURE_TEXT_NONE, "");
    unlink (log_file);
    assert_int_equal (mkfifo (log_file, 0600), 0);
    check (FAILURE_TEXT_NONE, "");
    unlink (log_file);
    assert_int_equal (rename (error_file, log_file), 0);
    check (FAILURE_TEXT_LOG, "a line");
    assert_int_equal (last_line_read (&failed, "/dev/urandom", NULL).text.source, FAILURE_TEXT_NONE);
    if (geteuid () != 0 || chown (log_file, 4711, 0) < 0)
        SKIP ("only root can give a file to another user");
    check (FAILURE_TEXT_NONE, "");
    /* The file system shows this owner, whoever writes. */
    assert_true ((log = open (log_file, O_WRONLY)) >= 0);
    assert_int_equal (dup2 (log, SUPERVISOR_LOG_FD), SUPERVISOR_LOG_FD);
    check (FAILURE_TEXT_LOG, "a line");
    close (SUPERVISOR_LOG_FD);
    check (FAILURE_TEXT_NONE, "");
}

TEST (a_file_system_that_hangs_is_given_up)
{
    write_file (log_file, "a line\n");
    assert_true ((mine = dup (STDERR_FILENO)) > STDERR_FILENO);
    hangs = true;
    /* A slow child is killed before it hangs. */
    for (; !child->hangs; patience_ms *= 2) {
        check (FAILURE_TEXT_NONE, "");
        while (waitpid (-1, NULL, 0) > 0)
            ;
    }
    assert_false (child->has_mine);
    close (mine);
    hangs = false;
    check (FAILURE_TEXT_LOG, "a line");
    assert_int_equal (waitpid (-1, NULL, 0), -1);
}
