/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "rendezvous/console.h"

/* Run `print` with this descriptor as stderr, then restore the old stderr. */
static void with_stderr (int fd, void (*print) (void))
{
    int saved = dup (STDERR_FILENO);

    assert_true (saved >= 0);
    dup2 (fd, STDERR_FILENO);
    print ();
    dup2 (saved, STDERR_FILENO);
    close (saved);
}

static void print_two_lines (void)
{
    console_print ("one\ntwo\n");
}

static void say_line (void)
{
    console_say ("error: spank_tf: %d of %d", 2, 64);
}

static void check_pipe (void (*print) (void), const char *expected)
{
    char text[64] = "";
    int fds[2];

    assert_int_equal (pipe (fds), 0);
    with_stderr (fds[1], print);
    close (fds[1]);
    assert_int_equal (read (fds[0], text, sizeof (text) - 1), strlen (expected));
    assert_string_equal (text, expected);
    close (fds[0]);
}

/* Check what a terminal receives, in raw mode as under `srun --pty` or not. */
static void check_terminal (bool raw, const char *expected)
{
    int master = posix_openpt (O_RDWR | O_NOCTTY), slave;
    struct termios tty;
    char text[64] = "";

    assert_true (master >= 0 && grantpt (master) == 0 && unlockpt (master) == 0);
    assert_true ((slave = open (ptsname (master), O_RDWR | O_NOCTTY)) >= 0);
    assert_int_equal (tcgetattr (slave, &tty), 0);
    if (raw)
        cfmakeraw (&tty);
    assert_int_equal (tcsetattr (slave, TCSANOW, &tty), 0);
    with_stderr (slave, print_two_lines);
    for (size_t got = 0; got < strlen (expected);) {
        struct pollfd pfd = { .fd = master, .events = POLLIN };

        assert_int_equal (poll (&pfd, 1, 5000), 1);
        got += (size_t)read (master, text + got, sizeof (text) - 1 - got);
    }
    assert_string_equal (text, expected);
    close (slave);
    close (master);
}

TEST (text_is_printed_unchanged)
{
    check_pipe (print_two_lines, "one\ntwo\n");
}

TEST (an_error_line_begins_with_srun_error)
{
    check_pipe (say_line, "srun: error: spank_tf: 2 of 64\n");
}

/* Print numbered lines, more than a pipe holds. */
static void print_many_lines (void)
{
    static char text[20000 * 7 + 1];

    for (int i = 0; i < 20000; i++)
        snprintf (text + 7 * i, 8, "%06d\n", i);
    console_print (text);
}

TEST (text_longer_than_a_pipe_arrives_completely)
{
    int fds[2], status;
    pid_t pid;

    assert_int_equal (pipe (fds), 0);
    if ((pid = fork ()) == 0) {
        FILE *f = fdopen (fds[0], "r");
        int expected = 0, number;

        close (fds[1]);
        while (fscanf (f, "%d", &number) == 1 && number == expected)
            expected++;
        fclose (f);
        _exit (expected != 20000);
    }
    close (fds[0]);
    with_stderr (fds[1], print_many_lines);
    close (fds[1]);
    waitpid (pid, &status, 0);
    assert_int_equal (status, 0);
}

/* Each write () must contain whole lines. SOCK_SEQPACKET preserves the boundaries of writes. */
TEST (each_write_contains_whole_lines)
{
    int pair[2], size = 1 << 20;
    char text[8192];
    ssize_t n;

    assert_int_equal (socketpair (AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    setsockopt (pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof (size));
    with_stderr (pair[0], print_many_lines);
    close (pair[0]);
    assert_true (recv (pair[1], text, sizeof (text), 0) > 0);
    while ((n = recv (pair[1], text, sizeof (text), 0)) > 0) {
        assert_between (n, 1, PIPE_BUF);
        assert_int_equal (text[n - 1], '\n');
    }
    close (pair[1]);
}

TEST (the_console_does_not_wait_for_a_reader_that_does_not_read)
{
    int fds[2];

    assert_int_equal (pipe2 (fds, O_NONBLOCK), 0);
    while (write (fds[1], "x", 1) == 1)
        ;
    fcntl (fds[1], F_SETFL, 0);
    alarm (20);
    with_stderr (fds[1], say_line);
    alarm (0);
    close (fds[0]);
    close (fds[1]);
}

TEST (a_terminal_receives_crlf_in_raw_mode_or_not)
{
    check_terminal (false, "one\r\ntwo\r\n");
    check_terminal (true, "one\r\ntwo\r\n");
}

/* The log (console_keep ()). */

static char top[] = "/tmp/test_console.XXXXXX";

static void keep_log (void)
{
    struct errtext err = { "" };
    struct master_log *log = master_log_open (top, false, &err);

    if (!log)
        fail_msg ("%s", err.text);
    console_keep (log);
}

/* End the log and check its text. */
static void check_log (const char *expected)
{
    static char text[20000 * 7 + 1];
    char path[64];
    FILE *f;

    console_keep (NULL);
    snprintf (path, sizeof (path), "%s/master.log", top);
    assert_non_null (f = fopen (path, "r"));
    text[fread (text, 1, sizeof (text) - 1, f)] = '\0';
    fclose (f);
    assert_string_equal (text, expected);
}

static void note_line (void)
{
    console_note ("noted\n");
}

/* Check what `print` writes to stderr and to the log. */
static void check_kept (void (*print) (void), const char *on_stderr, const char *in_file)
{
    char text[64] = "";
    int fds[2];

    keep_log ();
    assert_int_equal (pipe2 (fds, O_NONBLOCK), 0);
    with_stderr (fds[1], print);
    (void)!read (fds[0], text, sizeof (text) - 1);
    assert_string_equal (text, on_stderr);
    check_log (in_file);
    close (fds[0]);
    close (fds[1]);
}

TEST (the_log_gets_all_text_and_notes_go_only_there)
{
    check_kept (print_two_lines, "one\ntwo\n", "one\ntwo\n");
    check_kept (say_line, "srun: error: spank_tf: 2 of 64\n", "srun: error: spank_tf: 2 of 64\n");
    check_kept (note_line, "", "noted\n");
}

TEST (without_a_log_a_note_is_discarded)
{
    int fds[2];

    assert_int_equal (pipe2 (fds, O_NONBLOCK), 0);
    with_stderr (fds[1], note_line);
    close (fds[1]);
    assert_int_equal (read (fds[0], fds, 1), 0);
    close (fds[0]);
}

TEST (the_log_gets_no_carriage_returns)
{
    keep_log ();
    check_terminal (true, "one\r\ntwo\r\n");
    check_log ("one\ntwo\n");
}

/* The log is complete even if the reader of stderr is too slow. */
TEST (the_log_gets_what_the_reader_of_stderr_does_not_read)
{
    char expected[20000 * 7 + 1];
    int fds[2];

    for (int i = 0; i < 20000; i++)
        snprintf (expected + 7 * i, 8, "%06d\n", i);
    keep_log ();
    assert_int_equal (pipe (fds), 0);
    alarm (20);
    with_stderr (fds[1], print_many_lines);
    alarm (0);
    check_log (expected);
    close (fds[0]);
    close (fds[1]);
}

static int make_top (void **unused __attribute__ ((unused)))
{
    return mkdtemp (top) ? 0 : -1;
}

static int remove_top (void **unused __attribute__ ((unused)))
{
    char command[64];

    snprintf (command, sizeof (command), "rm -r %s", top);
    return system (command);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (text_is_printed_unchanged),
        cmocka_unit_test (an_error_line_begins_with_srun_error),
        cmocka_unit_test (text_longer_than_a_pipe_arrives_completely),
        cmocka_unit_test (each_write_contains_whole_lines),
        cmocka_unit_test (the_console_does_not_wait_for_a_reader_that_does_not_read),
        cmocka_unit_test (a_terminal_receives_crlf_in_raw_mode_or_not),
        cmocka_unit_test (the_log_gets_all_text_and_notes_go_only_there),
        cmocka_unit_test (without_a_log_a_note_is_discarded),
        cmocka_unit_test (the_log_gets_no_carriage_returns),
        cmocka_unit_test (the_log_gets_what_the_reader_of_stderr_does_not_read),
    };

    return cmocka_run_group_tests (tests, make_top, remove_top);
}
