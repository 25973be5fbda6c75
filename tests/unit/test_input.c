/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stdin of a task that may be restarted, in the process of the test.
 */
#include "config.h"

#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "supervise/input.h"

#define CHUNK 65536

static struct input input;
static int srun;                /* the end of slurmstepd */
static int life = -1;           /* stdin of the present life */
static bool waits;              /* for the next one */

static void set_stdin (int fd)
{
    assert_int_equal (dup2 (fd, STDIN_FILENO), STDIN_FILENO);
    close (fd);
}

static void begin_task (bool spare)
{
    const struct supervisor_config config = { .restart = { .times = 1 }, .spare = spare };
    int pair[2];

    assert_int_equal (pipe2 (pair, O_CLOEXEC), 0);
    set_stdin (pair[0]);
    srun = pair[1];
    fcntl (srun, F_SETFL, O_NONBLOCK);
    input_init (&input, &config);
    set_stdin (open ("/dev/null", O_RDONLY));
}

static void end_life (void)
{
    if (life >= 0)
        close (life);
    life = -1;
}

static void begin_life (void)
{
    struct errtext err;

    end_life ();
    assert_int_equal (input_begin (&input, &life, &err), 0);
    assert_true (life >= 0);
    fcntl (life, F_SETFL, O_NONBLOCK);
}

static void end_task (void)
{
    end_life ();
    close (srun);
    free (input.kept);
    if (input.from >= 0)
        close (input.from);
    if (input.to >= 0)
        close (input.to);
}

/* Until nothing happens any more. False if the input cannot be given to another life from now on. */
static bool serve (void)
{
    bool can = true;
    struct pollfd pfd[2];

    for (;;) {
        input_poll (&input, waits, pfd);
        if (poll (pfd, 2, 0) <= 0)
            return can;
        can = input_serve (&input, pfd) && can;
    }
}

/* So much as srun can write; returns that. */
static size_t send_most (size_t most)
{
    static char chunk[CHUNK];
    size_t sent = 0;

    while (sent < most) {
        ssize_t n = write (srun, chunk, most - sent < CHUNK ? most - sent : CHUNK);

        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    return sent;
}

/* Serve until all is sent. */
static bool send_all (size_t size)
{
    bool can = true;

    while (size > 0) {
        size_t n = send_most (size);

        size -= n;
        can = serve () && can;
    }
    return can;
}

/* The text that the life can read now; "END" is its end. */
static const char *reads (void)
{
    static char text[256];
    ssize_t n;

    serve ();
    n = read (life, text, sizeof (text) - 1);
    if (n == 0)
        return "END";
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static void send_text (const char *text)
{
    assert_int_equal (write (srun, text, strlen (text)), (ssize_t)strlen (text));
}

static int block_sigpipe (void **unused __attribute__ ((unused)))
{
    sigset_t all;

    sigfillset (&all);
    return sigprocmask (SIG_SETMASK, &all, NULL);
}

ALL_TESTS (block_sigpipe, NULL)

TEST (each_life_has_all_that_has_come_and_then_what_comes)
{
    begin_task (false);
    send_text ("one ");
    begin_life ();
    assert_string_equal (reads (), "one ");
    assert_string_equal (reads (), "");
    send_text ("two ");
    assert_string_equal (reads (), "two ");
    end_life ();
    send_text ("three ");
    serve ();
    begin_life ();
    assert_string_equal (reads (), "one two three ");
    send_text ("four");
    close (srun);
    assert_string_equal (reads (), "four");
    assert_string_equal (reads (), "END");
    begin_life ();
    assert_string_equal (reads (), "one two three four");
    assert_string_equal (reads (), "END");
    end_task ();
}

TEST (without_input_each_life_reads_its_end)
{
    begin_task (false);
    close (srun);
    for (int i = 0; i < 3; i++) {
        begin_life ();
        assert_string_equal (reads (), "END");
    }
    end_task ();
}

TEST (before_the_first_life_nothing_is_read)
{
    begin_task (false);
    assert_true (send_most (10 * INPUT_MOST) < INPUT_MOST);
    assert_true (serve ());
    assert_int_equal (send_most (1), 0);
    assert_int_equal (input.size, 0);
    end_task ();
}

TEST (a_life_that_reads_nothing_makes_srun_wait)
{
    bool can = true;

    begin_task (false);
    begin_life ();
    while (send_most (INPUT_MOST) > 0)
        can = serve () && can;
    assert_true (can);
    assert_true (input.size < INPUT_MOST / 16);
    end_task ();
}

/* A program that has closed its stdin, and one that has ended. */
TEST (what_no_life_reads_is_kept_and_makes_nobody_wait)
{
    struct pollfd pfd[2];
    sigset_t pending;

    begin_task (false);
    begin_life ();
    serve ();
    end_life ();
    assert_true (send_all (INPUT_MOST / 2));
    assert_int_equal (input.size, INPUT_MOST / 2);
    /* It may end between poll () and write (), too. */
    begin_life ();
    input_poll (&input, false, pfd);
    assert_int_equal (poll (pfd, 2, 0), 1);
    end_life ();
    assert_true (input_serve (&input, pfd));
    sigpending (&pending);
    assert_false (sigismember (&pending, SIGPIPE));
    assert_true (send_all (INPUT_MOST / 2));
    assert_int_equal (input.size, INPUT_MOST);
    /* One more, and it is not kept; what comes then is dropped. */
    assert_false (send_all (1));
    assert_true (send_all (INPUT_MOST));
    assert_true (input.room < INPUT_MOST / 16);
    end_task ();
}

TEST (a_task_that_waits_for_its_next_life_reads_nothing)
{
    begin_task (false);
    begin_life ();
    serve ();
    end_life ();
    serve ();
    waits = true;
    assert_true (send_most (INPUT_MOST) < INPUT_MOST);
    assert_true (serve ());
    assert_int_equal (input.size, 0);
    waits = false;
    begin_life ();
    send_most (1);
    assert_true (serve ());
    assert_true (input.size > 0);
    end_task ();
}

TEST (a_spare_keeps_what_comes_before_it_has_a_place)
{
    begin_task (true);
    assert_true (send_all (INPUT_MOST));
    assert_int_equal (input.size, INPUT_MOST);
    assert_false (send_all (1));
    end_task ();
}

TEST (a_life_gets_more_than_is_kept)
{
    static char chunk[CHUNK];
    size_t sent = 0, got = 0;
    int losses = 0;

    begin_task (false);
    begin_life ();
    for (;;) {
        ssize_t n;

        sent += send_most (3 * INPUT_MOST - sent);
        if (sent == 3 * INPUT_MOST && srun >= 0) {
            close (srun);
            srun = -1;
        }
        losses += !serve ();
        if ((n = read (life, chunk, sizeof (chunk))) == 0)
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal (got, 3 * INPUT_MOST);
    assert_int_equal (losses, 1);
    end_task ();
}

TEST (a_stdin_that_is_no_pipe_and_a_task_that_is_not_restarted_have_no_relay)
{
    struct supervisor_config config = { .restart = { .times = 1 } };
    struct errtext err;
    int pair[2], fd;

    set_stdin (open ("/dev/null", O_RDONLY));
    input_init (&input, &config);
    assert_int_equal (input_begin (&input, &fd, &err), 0);
    assert_int_equal (fd, -1);
    assert_int_equal (pipe2 (pair, O_CLOEXEC), 0);
    set_stdin (pair[0]);
    config.restart.times = 0;
    input_init (&input, &config);
    assert_int_equal (input_begin (&input, &fd, &err), 0);
    assert_int_equal (fd, -1);
}
