/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
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

#include "console.h"

/* Let `print` write to that stderr, and put the old one back. */
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

/* On a terminal, raw as `srun --pty` makes it or not. */
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

TEST (text_is_printed_as_it_is)
{
    check_pipe (print_two_lines, "one\ntwo\n");
}

TEST (a_line_is_said_in_sruns_name)
{
    check_pipe (say_line, "srun: error: spank_tf: 2 of 64\n");
}

/* Numbered lines, more than a pipe holds. */
static void print_many_lines (void)
{
    static char text[20000 * 7 + 1];

    for (int i = 0; i < 20000; i++)
        snprintf (text + 7 * i, 8, "%06d\n", i);
    console_print (text);
}

TEST (text_longer_than_a_pipe_arrives_whole)
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

/* Each in one write: on a socket that keeps writes apart they show. */
TEST (lines_are_not_torn)
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
        assert_in_range (n, 1, PIPE_BUF);
        assert_int_equal (text[n - 1], '\n');
    }
    close (pair[1]);
}

TEST (a_reader_that_does_not_read_is_not_waited_for)
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

TEST (a_terminal_gets_whole_line_ends_raw_or_not)
{
    check_terminal (false, "one\r\ntwo\r\n");
    check_terminal (true, "one\r\ntwo\r\n");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (text_is_printed_as_it_is),
        cmocka_unit_test (a_line_is_said_in_sruns_name),
        cmocka_unit_test (text_longer_than_a_pipe_arrives_whole),
        cmocka_unit_test (lines_are_not_torn),
        cmocka_unit_test (a_reader_that_does_not_read_is_not_waited_for),
        cmocka_unit_test (a_terminal_gets_whole_line_ends_raw_or_not),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
