/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A file system that hangs is simulated: openat () and write () of the log's child are wrapped.
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "rendezvous/console.h"
#include "rendezvous/master_log.h"

/* What the file system does; shared with the log's child. */
static struct {
    volatile bool open_hangs, write_hangs, is_full;
} *disk;

/* The process whose own calls are not affected. */
static pid_t self;

int __real_openat (int dir, const char *path, int flags, mode_t mode);
int __wrap_openat (int dir, const char *path, int flags, mode_t mode);
ssize_t __real_write (int fd, const void *bytes, size_t length);
ssize_t __wrap_write (int fd, const void *bytes, size_t length);

int __wrap_openat (int dir, const char *path, int flags, mode_t mode)
{
    while (disk->open_hangs && getpid () != self)
        poll (NULL, 0, 1);
    return __real_openat (dir, path, flags, mode);
}

ssize_t __wrap_write (int fd, const void *bytes, size_t length)
{
    while (disk->write_hangs && getpid () != self)
        poll (NULL, 0, 1);
    if (disk->is_full && getpid () != self) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write (fd, bytes, length);
}

/*
 * Timeouts are longer than in the program, so that no test depends on the machine's speed; or
 * shorter, where a test waits for them.
 */
static bool short_timeouts;

struct deadline __real_deadline_in_ms (int64_t ms);
struct deadline __wrap_deadline_in_ms (int64_t ms);

struct deadline __wrap_deadline_in_ms (int64_t ms)
{
    return __real_deadline_in_ms (short_timeouts ? ms / 50 : 10 * ms);
}

/* The temporary directory of the test that is running. */
static char top[32];

static int set_up (void **unused __attribute__ ((unused)))
{
    snprintf (top, sizeof (top), "/tmp/test_master_log.XXXXXX");
    disk->open_hangs = disk->write_hangs = disk->is_full = false;
    short_timeouts = false;
    self = getpid ();
    alarm (60);
    return mkdtemp (top) ? 0 : -1;
}

static int tear_down (void **unused __attribute__ ((unused)))
{
    char command[64];

    alarm (0);
    snprintf (command, sizeof (command), "rm -r %s", top);
    return system (command);
}

static struct master_log *open_log (bool append)
{
    struct errtext err = { "" };
    struct master_log *log = master_log_open (top, append, &err);

    if (!log)
        fail_msg ("%s", err.text);
    return log;
}

/* The text of the file, which remains valid until the next call. */
static const char *content (void)
{
    static char text[1 << 20];
    char path[64];
    FILE *f;

    snprintf (path, sizeof (path), "%s/master.log", top);
    text[0] = '\0';
    if ((f = fopen (path, "r"))) {
        text[fread (text, 1, sizeof (text) - 1, f)] = '\0';
        fclose (f);
    }
    return text;
}

/* Lines of 8 bytes, more than fit into one message to the child. */
static const char *long_text (void)
{
    static char text[30000 * 8 + 1];

    for (int i = 0; i < 30000; i++)
        snprintf (text + 8 * i, 9, "%07d\n", i);
    return text;
}

TEST (text_is_in_the_file_as_soon_as_it_is_written)
{
    struct master_log *log = open_log (false);
    char path[64];

    snprintf (path, sizeof (path), "%s/master.log", top);
    assert_string_equal (master_log_path (log), path);
    assert_string_equal (content (), "");
    assert_true (master_log_write (log, "one\ntwo\n"));
    assert_string_equal (content (), "one\ntwo\n");
    assert_true (master_log_write (log, ""));
    assert_true (master_log_write (log, "three\n"));
    assert_string_equal (content (), "one\ntwo\nthree\n");
    master_log_close (log);
}

TEST (a_long_text_is_written_completely)
{
    struct master_log *log = open_log (false);

    assert_true (master_log_write (log, long_text ()));
    assert_string_equal (content (), long_text ());
    master_log_close (log);
}

TEST (an_existing_file_is_truncated_or_appended_to)
{
    static const char *const expected[] = { "x\n", "x\nx\n", "x\n" };

    for (int i = 0; i < 3; i++) {
        struct master_log *log = open_log (i == 1);

        assert_true (master_log_write (log, "x\n"));
        assert_string_equal (content (), expected[i]);
        master_log_close (log);
    }
}

TEST (a_file_that_cannot_be_opened_is_an_error)
{
    struct errtext err = { "" };
    char path[64], message[128];

    snprintf (path, sizeof (path), "%s/master.log", top);
    assert_int_equal (symlink ("elsewhere", path), 0);
    snprintf (message, sizeof (message), "%s: it is a symbolic link", path);
    assert_null (master_log_open (top, false, &err));
    assert_string_equal (err.text, message);
    snprintf (message, sizeof (message), "%s/file/a: Not a directory", top);
    snprintf (path, sizeof (path), "%s/file", top);
    close (creat (path, 0600));
    strcat (path, "/a");
    assert_null (master_log_open (path, false, &err));
    assert_string_equal (err.text, message);
}

TEST (a_full_disk_is_ignored)
{
    struct master_log *log = open_log (false);

    disk->is_full = true;
    assert_true (master_log_write (log, "one\n"));
    disk->is_full = false;
    assert_true (master_log_write (log, "two\n"));
    assert_string_equal (content (), "two\n");
    master_log_close (log);
}

/* Write until the child has caught up with all that it was sent before. */
static void await_child (struct master_log *log)
{
    while (!master_log_write (log, "."))
        poll (NULL, 0, 1);
}

/* The text is written when the file system responds again. */
TEST (an_open_that_hangs_is_not_waited_for)
{
    struct master_log *log;

    disk->open_hangs = true;
    short_timeouts = true;
    log = open_log (false);
    assert_false (master_log_write (log, "one\n"));
    assert_false (master_log_write (log, "two\n"));
    disk->open_hangs = false;
    await_child (log);
    assert_memory_equal (content (), "one\ntwo\n.", 9);
    master_log_close (log);
}

TEST (a_write_that_hangs_is_not_waited_for)
{
    struct master_log *log = open_log (false);

    assert_true (master_log_write (log, "one\n"));
    disk->write_hangs = true;
    short_timeouts = true;
    /* Many times the socket's size: the rest is dropped. */
    for (int i = 0; i < 100; i++)
        assert_false (master_log_write (log, long_text ()));
    short_timeouts = false;
    disk->write_hangs = false;
    await_child (log);
    assert_memory_equal (content (), "one\n0000000\n0000001\n", 20);
    assert_true (master_log_write (log, "last\n"));
    assert_string_equal (content () + strlen (content ()) - 6, ".last\n");
    master_log_close (log);
}

TEST (what_a_late_child_has_got_is_written_before_the_log_is_closed)
{
    struct master_log *log = open_log (false);

    disk->write_hangs = true;
    short_timeouts = true;
    assert_false (master_log_write (log, "one\n"));
    assert_false (master_log_write (log, "two\n"));
    short_timeouts = false;
    disk->write_hangs = false;
    master_log_close (log);
    assert_string_equal (content (), "one\ntwo\n");
}

/* When the log is closed, or when the rendezvous ends. */
static void check_killed (bool closed)
{
    int status;

    disk->write_hangs = false;
    if (fork () == 0) {
        struct master_log *log = (self = getpid (), open_log (false));

        disk->write_hangs = true;
        short_timeouts = true;
        if (master_log_write (log, "one\n"))
            _exit (1);
        if (closed) {
            master_log_close (log);
            _exit (wait (&status) < 0 || status != SIGKILL);
        }
        _exit (0);
    }
    assert_true (wait (&status) > 0);
    assert_int_equal (status, 0);
    if (closed)
        return;
    /* The orphan is this process' child now. */
    assert_true (wait (&status) > 0);
    assert_int_equal (status, SIGKILL);
}

TEST (a_child_that_hangs_is_killed)
{
    /* The logs of earlier tests. */
    while (wait (NULL) > 0)
        ;
    assert_int_equal (prctl (PR_SET_CHILD_SUBREAPER, 1), 0);
    check_killed (true);
    check_killed (false);
}

/* Otherwise it would keep srun's stderr, or a connection, open. */
TEST (the_child_keeps_no_descriptor_open)
{
    struct master_log *log;
    int fds[2];
    char byte;

    assert_int_equal (pipe (fds), 0);
    log = open_log (false);
    close (fds[1]);
    assert_int_equal (read (fds[0], &byte, 1), 0);
    close (fds[0]);
    master_log_close (log);
}

/* On stderr. */
TEST (the_console_reports_a_log_that_is_late_once)
{
    int fds[2], saved = dup (STDERR_FILENO);
    char text[512] = "", expected[512];

    console_keep (open_log (false));
    disk->write_hangs = true;
    short_timeouts = true;
    assert_int_equal (pipe (fds), 0);
    dup2 (fds[1], STDERR_FILENO);
    console_note ("one\n");
    console_say ("two");
    dup2 (saved, STDERR_FILENO);
    close (saved);
    close (fds[1]);
    assert_true (read (fds[0], text, sizeof (text) - 1) > 0);
    snprintf (expected, sizeof (expected), "srun: spank_tf: %s/master.log is not written in time; "
              "lines may be missing in it\nsrun: two\n", top);
    assert_string_equal (text, expected);
    close (fds[0]);
    disk->write_hangs = false;
    short_timeouts = false;
    console_keep (NULL);
    assert_string_equal (content (), "one\nsrun: two\n");
}

int main (void)
{
#define ON_DISK(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_DISK (text_is_in_the_file_as_soon_as_it_is_written),
        ON_DISK (a_long_text_is_written_completely),
        ON_DISK (an_existing_file_is_truncated_or_appended_to),
        ON_DISK (a_file_that_cannot_be_opened_is_an_error),
        ON_DISK (a_full_disk_is_ignored),
        ON_DISK (an_open_that_hangs_is_not_waited_for),
        ON_DISK (a_write_that_hangs_is_not_waited_for),
        ON_DISK (what_a_late_child_has_got_is_written_before_the_log_is_closed),
        ON_DISK (a_child_that_hangs_is_killed),
        ON_DISK (the_child_keeps_no_descriptor_open),
        ON_DISK (the_console_reports_a_log_that_is_late_once),
    };

    disk = mmap (NULL, sizeof (*disk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return disk == MAP_FAILED ? 1 : cmocka_run_group_tests (tests, NULL, NULL);
}
