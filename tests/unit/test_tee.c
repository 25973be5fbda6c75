/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A child of the test plays tf-supervise; the test is srun, and writes what the task's programs write.
 * parse.golden has what becomes of lines.
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/descriptors.h"
#include "supervise/tee.h"
#include "supervise/tee_lines.h"

#define TIMEOUT_S 120

static int program[2];          /* the task's stdout and stderr */
static int srun[2];             /* what srun gets of them */
static int orders, logfile;
static pid_t supervisor;

/* "f": flush; "s": for a short time; anything else: finish. */
static void supervise (int from)
{
    struct supervisor_config config = {
        .rank = 1, .step = "12.0", .log = "/logs/worker1.log", .tee = true, .role = "worker", .index = 1
    };
    struct errtext err;
    struct tee *tee;
    char order;

    if (tee_start (&tee, &config, &err) < 0)
        _exit (2);
    while (read (from, &order, 1) == 1 && (order == 'f' || order == 's'))
        if (write (from, tee_flush (tee, order == 's' ? 100 : TIMEOUT_S * 1000) ? "y" : "n", 1) != 1)
            _exit (3);
    tee_finish (tee);
    _exit (0);
}

static void place (int fd, int number)
{
    if (dup2 (fd, number) < 0)
        _exit (4);
}

static void start_with (int log)
{
    int out[2], err[2], to_out[2], to_err[2], pair[2];
    sigset_t all;

    logfile = log;
    /* If a test fails, those behind it may wait for what it has left. */
    alarm (TIMEOUT_S);
    /* The child in the background becomes a child of this process. */
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    assert_int_equal (pipe2 (out, O_CLOEXEC) | pipe2 (err, O_CLOEXEC) | pipe2 (to_out, O_CLOEXEC)
                          | pipe2 (to_err, O_CLOEXEC),
                      0);
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    if ((supervisor = fork ()) == 0) {
        int own[] = { to_out[1], to_err[1], log, out[0], err[0], pair[1] };

        prctl (PR_SET_PDEATHSIG, SIGKILL);
        alarm (TIMEOUT_S);
        sigfillset (&all);
        sigdelset (&all, SIGALRM);
        sigprocmask (SIG_SETMASK, &all, NULL);
        for (int i = 0; i < 6; i++)
            own[i] = fcntl (own[i], F_DUPFD, 100);
        place (own[0], STDOUT_FILENO);
        place (own[1], STDERR_FILENO);
        place (own[2], SUPERVISOR_LOG_FD);
        place (own[3], SUPERVISOR_STDOUT_FD);
        place (own[4], SUPERVISOR_STDERR_FD);
        place (own[5], SUPERVISOR_RENDEZVOUS_FD);
        descriptors_close_above (SUPERVISOR_LAST_FD);
        supervise (SUPERVISOR_RENDEZVOUS_FD);
    }
    close (out[0]);
    close (err[0]);
    close (to_out[1]);
    close (to_err[1]);
    close (pair[1]);
    program[0] = out[1];
    program[1] = err[1];
    srun[0] = to_out[0];
    srun[1] = to_err[0];
    orders = pair[0];
}

static void start (void)
{
    start_with (memfd_create ("log", MFD_CLOEXEC));
}

static void print (int stream, const char *text)
{
    assert_int_equal (write (program[stream], text, strlen (text)), strlen (text));
}

/* What srun gets next is this text. */
static void expect (int stream, const char *text)
{
    char got[512] = "";

    for (size_t length = 0; length < strlen (text);) {
        struct pollfd pfd = { .fd = srun[stream], .events = POLLIN };
        ssize_t n;

        assert_int_equal (poll (&pfd, 1, TIMEOUT_S * 1000), 1);
        n = read (srun[stream], got + length, sizeof (got) - 1 - length);
        assert_true (n > 0);
        length += (size_t)n;
    }
    assert_string_equal (got, text);
}

static void expect_nothing (int stream)
{
    struct pollfd pfd = { .fd = srun[stream], .events = POLLIN };

    assert_int_equal (poll (&pfd, 1, 50), 0);
}

static void expect_log (const char *text)
{
    char got[512] = "";

    assert_true (pread (logfile, got, sizeof (got) - 1, 0) >= 0);
    assert_string_equal (got, text);
}

static bool flush (const char *order)
{
    char answer = '?';

    assert_int_equal (write (orders, order, 1), 1);
    assert_int_equal (read (orders, &answer, 1), 1);
    return answer == 'y';
}

static void finish (void)
{
    assert_int_equal (write (orders, "l", 1), 1);
    assert_int_equal (end_of (supervisor), 0);
}

static void end (void)
{
    char rest;

    close (program[0]);
    close (program[1]);
    assert_int_equal (read (srun[0], &rest, 1), 0);
    assert_int_equal (read (srun[1], &rest, 1), 0);
    close (srun[0]);
    close (srun[1]);
    while (waitpid (-1, NULL, 0) > 0)
        ;
    close (orders);
    close (logfile);
}

TEST (output_goes_to_the_log_as_it_is_and_to_srun_by_lines)
{
    start ();
    print (0, "one\ntw");
    expect (0, "worker 1: one\n");
    print (1, "error\n");
    expect (1, "worker 1: error\n");
    print (0, "o\n");
    expect (0, "worker 1: two\n");
    expect_log ("one\ntwerror\no\n");
    finish ();
    end ();
}

TEST (a_life_ends_its_last_line)
{
    start ();
    print (0, "no end");
    expect_nothing (0);
    assert_true (flush ("f"));
    expect (0, "worker 1: no end\n");
    print (0, "a new life\n");
    expect (0, "worker 1: a new life\n");
    expect_log ("no enda new life\n");
    finish ();
    end ();
}

TEST (what_the_task_has_written_is_passed_on_before_its_supervisor_ends)
{
    start ();
    kill (supervisor, SIGSTOP);
    print (0, "the last");
    print (1, "words\n");
    assert_int_equal (write (orders, "l", 1), 1);
    close (program[0]);
    close (program[1]);
    kill (supervisor, SIGCONT);
    assert_int_equal (waitpid (supervisor, NULL, 0), supervisor);
    expect (0, "worker 1: the last\n");
    expect (1, "worker 1: words\n");
    expect_log ("the lastwords\n");
    end ();
}

/* More than it reads at once. */
TEST (all_of_it_is_passed_on_before)
{
    char line[1000];
    int there = 0;

    memset (line, 'x', sizeof (line));
    line[sizeof (line) - 1] = '\n';
    start ();
    if (fcntl (program[0], F_SETPIPE_SZ, 1 << 19) < 0 || fcntl (srun[0], F_SETPIPE_SZ, 1 << 19) < 0) {
        finish ();
        end ();
        SKIP ("a pipe cannot be so large");
    }
    kill (supervisor, SIGSTOP);
    for (int i = 0; i < 300; i++)
        assert_int_equal (write (program[0], line, sizeof (line)), sizeof (line));
    assert_int_equal (write (orders, "l", 1), 1);
    kill (supervisor, SIGCONT);
    assert_int_equal (waitpid (supervisor, NULL, 0), supervisor);
    assert_int_equal (ioctl (srun[0], FIONREAD, &there), 0);
    assert_int_equal (there, 300 * (sizeof (line) + sizeof ("worker 1: ") - 1));
    while (there > 0)
        there -= (int)read (srun[0], line, sizeof (line));
    end ();
}

TEST (if_srun_does_not_read_the_program_waits_and_nothing_is_lost)
{
    static char text[4096], got[4096];
    int flags, wrote = 0, length = 0;
    ssize_t n;

    memset (text, 'x', sizeof (text));
    text[sizeof (text) - 1] = '\n';
    start ();
    flags = fcntl (program[0], F_GETFL);
    fcntl (program[0], F_SETFL, flags | O_NONBLOCK);
    /* On a busy machine the supervisor may not read for a while. */
    for (int idle = 0; idle < (wrote < 100000 ? 3000 : 20);)
        if ((n = write (program[0], text, sizeof (text))) > 0) {
            wrote += (int)n;
            idle = 0;
        } else {
            assert_int_equal (errno, EAGAIN);
            poll (NULL, 0, 10);
            idle++;
        }
    /* Its pipe, what has been read of it, and srun's. */
    assert_true (wrote >= 100000 && wrote <= 500000);
    assert_false (flush ("s"));
    assert_int_equal (wrote % (int)sizeof (text), 0);
    for (int expected = wrote / (int)sizeof (text) * (int)(sizeof (text) + 10); length < expected;
         length += (int)n)
        assert_true ((n = read (srun[0], got, sizeof (got))) > 0);
    assert_true (flush ("f"));
    finish ();
    end ();
}

TEST (if_srun_is_gone_the_log_gets_everything)
{
    start ();
    close (srun[0]);
    print (0, "one\n");
    assert_true (flush ("f"));
    print (0, "two\n");
    print (1, "error\n");
    expect (1, "worker 1: error\n");
    assert_true (flush ("f"));
    srun[0] = open ("/dev/null", O_RDONLY | O_CLOEXEC);
    expect_log ("one\ntwo\nerror\n");
    finish ();
    end ();
}

TEST (a_log_that_cannot_be_written_is_said_once_and_srun_gets_everything)
{
    start_with (open ("/dev/full", O_WRONLY | O_CLOEXEC));
    print (0, "one\n");
    expect (0, "worker 1: one\n");
    expect (1, "slurmstepd: error: spank_tf: step 12.0: worker 1: /logs/worker1.log: No space left on "
               "device; it lacks output that srun gets\n");
    print (0, "two\n");
    expect (0, "worker 1: two\n");
    expect_nothing (1);
    finish ();
    end ();
}

/* Of a line that is too long for parse.golden. */

static char got[2 * TEE_LINES_HELD];
static size_t got_length;

static void take (void *unused __attribute__ ((unused)), const char *bytes, size_t length)
{
    assert_true (got_length + length < sizeof (got));
    memcpy (got + got_length, bytes, length);
    got[got_length += length] = '\0';
}

/* What has been passed on ends so, and is forgotten. */
static void expect_end (size_t length, const char *text)
{
    assert_int_equal (got_length, length);
    assert_string_equal (got + length - strlen (text), text);
    got_length = 0;
}

TEST (a_long_line_is_passed_on_and_stays_one_line)
{
    static char text[TEE_LINES_HELD];
    static struct tee_lines lines;

    memset (text, 'x', sizeof (text));
    tee_lines_init (&lines, "w 1: ", take, NULL);
    tee_lines_add (&lines, text, sizeof (text));
    assert_int_equal (got_length, 0);
    tee_lines_add (&lines, "y", 1);
    assert_memory_equal (got, "w 1: xxx", 8);
    expect_end (5 + TEE_LINES_HELD + 1, "xy");
    tee_lines_add (&lines, "more", 4);
    expect_end (4, "more");
    tee_lines_add (&lines, "end\nnext\n", 9);
    expect_end (14, "end\nw 1: next\n");
    tee_lines_add (&lines, text, sizeof (text));
    tee_lines_add (&lines, "y", 1);
    got_length = 0;
    tee_lines_end (&lines);
    expect_end (1, "\n");
}
