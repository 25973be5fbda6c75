/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "rendezvous/console.h"

/* As if the user may have no more processes. */
static bool no_fork;

pid_t __real_fork (void);
pid_t __wrap_fork (void);

pid_t __wrap_fork (void)
{
    errno = EAGAIN;
    return no_fork ? -1 : __real_fork ();
}

/* Run `print` with this descriptor as stderr, end the console, then restore the old stderr. */
static void with_stderr (int fd, void (*print) (void))
{
    int saved = dup (STDERR_FILENO);

    assert_true (saved >= 0);
    dup2 (fd, STDERR_FILENO);
    print ();
    console_end ();
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
    char text[256] = "";
    int fds[2];

    assert_int_equal (pipe (fds), 0);
    with_stderr (fds[1], print);
    close (fds[1]);
    assert_int_equal (read (fds[0], text, sizeof (text) - 1), strlen (expected));
    assert_string_equal (text, expected);
    close (fds[0]);
}

/* Check what a terminal receives, in raw mode as under `srun --pty` or not. */
static void check_terminal (void (*print) (void), bool raw, const char *expected)
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
    with_stderr (slave, print);
    for (size_t got = 0; got < strlen (expected);) {
        struct pollfd pfd = { .fd = master, .events = POLLIN };

        assert_int_equal (poll (&pfd, 1, 60000), 1);
        got += (size_t)read (master, text + got, sizeof (text) - 1 - got);
    }
    assert_string_equal (text, expected);
    close (slave);
    close (master);
}

/* Print numbered lines, more than a pipe holds. */
static void print_many_lines (void)
{
    static char text[20000 * 7 + 1];

    for (int i = 0; i < 20000; i++)
        snprintf (text + 7 * i, 8, "%06d\n", i);
    console_print (text);
}

static void say_what_others_chose (void)
{
    console_say ("spank_tf: logs are in %s", "\33]0;x\a\nsrun: error: y");
    console_say ("%s", "on n1\r\n\x9b");
    console_print ("one\ntwo\33[A\n");
}

TEST (what_others_chose_makes_no_line_and_no_escape_sequence)
{
    check_pipe (say_what_others_chose, "srun: spank_tf: logs are in  ]0;x  srun: error: y\n"
                                       "srun: on n1  ?\n"
                                       "one\ntwo [A\n");
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

TEST (without_a_child_text_is_printed_all_the_same)
{
    no_fork = true;
    check_pipe (print_two_lines, "one\ntwo\n");
    no_fork = false;
}

/* The process ID of the console's only child. */
static pid_t child (void)
{
    char path[64], text[64] = "";
    FILE *f;

    snprintf (path, sizeof (path), "/proc/self/task/%d/children", (int)getpid ());
    assert_non_null (f = fopen (path, "r"));
    (void)!fgets (text, sizeof (text), f);
    fclose (f);
    assert_true (atoi (text) > 0);
    return atoi (text);
}

static void kill_child_between_two_lines (void)
{
    int status;

    console_print ("one\n");
    console_flush ();
    kill (child (), SIGKILL);
    wait (&status);
    console_print ("two\n");
}

TEST (a_child_that_was_killed_is_replaced)
{
    while (wait (NULL) > 0)
        ;
    check_pipe (kill_child_between_two_lines, "one\ntwo\n");
}

static void drop_a_line_and_release_two (void)
{
    console_release ();
    console_hold (60000);
    console_print ("dropped\n");
    assert_between (deadline_left_ms (console_next ()), 1000, 60000);
    console_drop ();
    console_print ("one\n");
    console_hold (60000);
    console_print ("two\n");
    console_print ("three\n");
    console_release ();
}

static void hold_a_line_for_no_time (void)
{
    console_hold (60000);
    console_print ("one\n");
    console_hold (0);
    console_print ("two\n");
    console_check_time ();
    assert_false (deadline_is_set (console_next ()) && deadline_left_ms (console_next ()) > 1000);
}

TEST (lines_that_are_kept_are_dropped_or_released_in_their_order)
{
    check_pipe (drop_a_line_and_release_two, "one\ntwo\nthree\n");
    check_pipe (hold_a_line_for_no_time, "one\ntwo\n");
}

static void busy_while_it_hangs (void)
{
    assert_false (deadline_is_set (console_next ()));
    say_line ();
    console_check_time ();
    assert_between (deadline_left_ms (console_next ()), 0, 1000);
}

static void idle_when_it_is_written (void)
{
    say_line ();
    while (deadline_is_set (console_next ()))
        console_check_time ();
}

TEST (there_is_something_to_do_until_all_is_written)
{
    int fds[2];

    full_pipe (fds);
    with_stderr (fds[1], busy_while_it_hangs);
    close (fds[0]);
    close (fds[1]);
    check_pipe (idle_when_it_is_written, "srun: error: spank_tf: 2 of 64\n");
}

/* The log. */

static const char *top;

static void keep_log (bool append)
{
    struct errtext err = { "" };

    if (console_open_log (top, append, &err) < 0)
        fail_msg ("%s", err.text);
}

/* End the console and check the log's text, whose lines begin with the time. */
static void check_log (const char *expected)
{
    static char text[20000 * 7 + 1];
    char path[64], line[256];
    size_t used = 0;
    FILE *f;

    console_end ();
    snprintf (path, sizeof (path), "%s/master.log", top);
    assert_non_null (f = fopen (path, "r"));
    while (fgets (line, sizeof (line), f)) {
        struct tm at;
        const char *rest = strptime (line, "%Y-%m-%dT%H:%M:%S%z ", &at);

        assert_ptr_equal (rest, line + 26);
        assert_true (used + strlen (rest) < sizeof (text));
        used += (size_t)sprintf (text + used, "%s", rest);
    }
    text[used] = '\0';
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
    char text[256] = "";
    int fds[2];

    keep_log (false);
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

TEST (a_terminal_receives_crlf_in_raw_mode_or_not_and_the_log_no_carriage_returns)
{
    check_terminal (print_two_lines, false, "one\r\ntwo\r\n");
    keep_log (false);
    check_terminal (print_two_lines, true, "one\r\ntwo\r\n");
    check_log ("one\ntwo\n");
}

/* Otherwise somebody who reads it up to its end would wait for the log's file system. */
TEST (the_log_does_not_keep_stderr_open)
{
    int fds[2], saved = dup (STDERR_FILENO);
    char byte;

    assert_int_equal (pipe (fds), 0);
    dup2 (fds[1], STDERR_FILENO);
    keep_log (false);
    dup2 (saved, STDERR_FILENO);
    close (saved);
    close (fds[1]);
    assert_int_equal (read (fds[0], &byte, 1), 0);
    close (fds[0]);
    console_end ();
}

static pid_t log_child;

/* The log's child stands still, as on a file system that hangs. */
static void flush_twice (void)
{
    console_note ("one\n");
    console_flush ();
    console_say ("two");
    console_flush ();
    kill (log_child, SIGCONT);
}

TEST (a_log_that_is_late_is_reported_once_and_gets_everything)
{
    char expected[256], text[256] = "";
    int fds[2];

    while (wait (NULL) > 0)
        ;
    keep_log (false);
    log_child = child ();
    kill (log_child, SIGSTOP);
    snprintf (expected, sizeof (expected),
              "srun: spank_tf: %s/master.log is not written in time; "
              "lines may be missing in it\nsrun: two\n",
              top);
    assert_int_equal (pipe (fds), 0);
    with_stderr (fds[1], flush_twice);
    close (fds[1]);
    for (size_t length = 0; length < strlen (expected);) {
        ssize_t n = read (fds[0], text + length, sizeof (text) - 1 - length);

        assert_true (n > 0);
        length += (size_t)n;
    }
    assert_string_equal (text, expected);
    close (fds[0]);
    while (wait (NULL) > 0)
        ;
    check_log ("one\nsrun: two\n");
}

static int make_top (void **unused __attribute__ ((unused)))
{
    signal (SIGPIPE, SIG_IGN);
    top = new_directory ();
    return 0;
}

ALL_TESTS (make_top, NULL)
