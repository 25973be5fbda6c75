/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The line between a supervisor and its rendezvous: whatever becomes of the connection, and
 * whoever is at its other end, the program goes on, and what there is to tell is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulation.h"
#include "supervision.h"

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

/* It breaks. */

static void _broken_while_it_runs (const void *with)
{
    const bool *reset = with;
    struct task task = { .program = program_lives, .grace = 100 };

    task_begin (&task);
    task_expect_output (&task, "up ");
    for (int i = 0; i < 3; i++) {
        task_hang_up (&task, *reset);
        task_expect_redial (&task, NULL);
    }
    task_tell (&task, "STOP");
    task_expect_stopped (&task);
}

static void _broken_while_it_stops (const void *with __attribute__ ((unused)))
{
    struct task task = { .program = program_is_deaf, .grace = 1 };

    task_begin_and_stop (&task, "up ");
    task_expect_alive (&task);
    task_hang_up (&task, false);
    task_expect_redial (&task, NULL);
    task_tell (&task, "STOP");
    task_expect_stopped (&task);
}

static void _broken_when_it_ended (const void *with)
{
    const bool *reset = with;
    struct task task = { .program = program_exits_3 };

    task_begin (&task);
    task_expect_report (&task, "exit 3");
    for (int i = 0; i < 3; i++) {
        task_hang_up (&task, *reset);
        task_expect_redial (&task, "exit 3");
    }
    task_dismiss (&task, W_EXITCODE (3, 0));
}

/* Nobody has heard of it when the connection is back. */
static void _ended_while_broken (const void *with __attribute__ ((unused)))
{
    struct task task = { .program = program_counts_signals };

    task_begin (&task);
    task_expect_output (&task, "up ");
    kill (task.pid, SIGSTOP);
    task_await_state (task.pid, 'T');
    task_hang_up (&task, true);
    kill (task.program_pid, SIGQUIT);
    task_await_state (task.program_pid, 'Z');
    kill (task.pid, SIGCONT);
    task_expect_redial (&task, "exit 5");
    task_dismiss (&task, W_EXITCODE (5, 0));
}

#define GONE "slurmstepd: error: spank_tf: step 12.0: the rendezvous has ended; its tasks are " \
             "not stopped when its work is done\n"

/* A pipe that takes no more. */
static int _full_pipe (void)
{
    static const char bytes[4096];
    int pair[2];

    if (pipe2 (pair, O_CLOEXEC | O_NONBLOCK) < 0)
        die ("pipe2: %s", strerror (errno));
    while (write (pair[1], bytes, sizeof (bytes)) > 0)
        ;
    fcntl (pair[1], F_SETFL, 0);
    return pair[1];
}

/* The program goes on, and its end is passed on. The speaker says so, if it can. */
static void _gone (const void *with __attribute__ ((unused)))
{
    struct task speaker = { .program = program_lives, .speaker = true }, mute = speaker,
                other = { .program = program_lives }, *const all[] = { &speaker, &mute, &other };

    mute.console = _full_pipe ();
    for (size_t i = 0; i < COUNT (all); i++) {
        task_begin (all[i]);
        task_expect_output (all[i], "up ");
    }
    for (size_t i = 0; i < COUNT (all); i++) {
        task_listen (all[i], false);
        task_hang_up (all[i], false);
    }
    /* Nor is it said at once, when a whole step may be on its way out. */
    poll (NULL, 0, 2000);
    task_expect_said (&speaker, "");
    poll (NULL, 0, 4000);
    for (size_t i = 0; i < COUNT (all); i++) {
        task_expect_idle (all[i]);
        kill (all[i]->program_pid, SIGUSR1);
        task_expect_end (all[i], W_EXITCODE (0, SIGUSR1));
    }
    task_expect_said (&speaker, GONE);
    task_expect_said (&other, "");
}

/* Nobody for a moment: with a report to make, nobody waits for long to see. */
static void _refused_once (const void *with)
{
    const bool *ending = with;
    struct task task = { .program = program_lives, .grace = 100, .speaker = true };
    int64_t begin = now_us ();

    task_begin (&task);
    task_expect_output (&task, "up ");
    task_listen (&task, false);
    task_hang_up (&task, false);
    poll (NULL, 0, 1000);
    task_listen (&task, true);
    if (*ending)
        kill (task.program_pid, SIGKILL);
    task_expect_redial (&task, *ending ? "signal 9" : NULL);
    if (*ending && !task_is_instrumented () && now_us () - begin > 4500000)
        die ("it was told after %d ms", (int)((now_us () - begin) / 1000));
    if (*ending)
        task_dismiss (&task, W_EXITCODE (0, SIGKILL));
    else {
        task_tell (&task, "STOP");
        task_expect_stopped (&task);
    }
    task_expect_said (&task, "");
}

static void _gone_when_it_ended (const void *with __attribute__ ((unused)))
{
    struct task task = { .program = program_exits_3, .speaker = true };

    task_begin (&task);
    task_expect_report (&task, "exit 3");
    task_listen (&task, false);
    task_hang_up (&task, false);
    task_expect_end (&task, W_EXITCODE (3, 0));
    task_expect_said (&task, "");
}

static void _succeed (void)
{
}

/* Whose report is where it will be read, in the rendezvous' queue, need not wait for an answer. */
static void _delivered (const void *with __attribute__ ((unused)))
{
    struct task task = { .program = _succeed, .brief = true };

    task_begin (&task);
    if (!task_ends_unanswered (&task, "exit 0", 0))
        die ("it waits for an answer");
}

/* A failure may be told, and last words are waited for. */
static void _undismissed (const void *with)
{
    const bool *failure = with;
    struct task task = { .program = *failure ? program_exits_3 : _succeed, .brief = *failure };

    task_begin (&task);
    if (task_ends_unanswered (&task, *failure ? "exit 3" : "exit 0", *failure ? 3 << 8 : 0))
        die ("it did not wait for an answer");
}

/* There is somebody, who says nothing. */
static void _mute (const void *with __attribute__ ((unused)))
{
    struct task task = { .program = program_exits_3 };

    task_begin (&task);
    task_expect_report (&task, "exit 3");
    poll (NULL, 0, 10000);
    task_expect_alive (&task);
    task_expect_end_within (&task, W_EXITCODE (3, 0), 30000);
}

/* There is somebody who always hangs up. */
static void _rude (const void *with __attribute__ ((unused)))
{
    struct task task = { .program = program_exits_3 };
    pid_t pid;

    task_begin (&task);
    task_expect_report (&task, "exit 3");
    task_hang_up (&task, false);
    if ((pid = fork ()) == 0)
        for (;;)
            close (accept (task.listener, NULL, NULL));
    poll (NULL, 0, 30000);
    task_expect_alive (&task);
    task_expect_end_within (&task, W_EXITCODE (3, 0), 60000);
    kill (pid, SIGKILL);
}

static void _carrier (bool up)
{
    int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq lo = { .ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0 };

    if (fd < 0 || ioctl (fd, SIOCSIFFLAGS, &lo) < 0)
        die ("lo: %s", strerror (errno));
    close (fd);
}

/* It ends when it is told to. */
static void _obey (void)
{
    sigset_t set;
    int number;

    sigemptyset (&set);
    sigaddset (&set, SIGQUIT);
    sigprocmask (SIG_BLOCK, &set, NULL);
    alarm (PROGRAM_LIFE_S);
    program_say ("up ");
    sigwait (&set, &number);
}

/* What is sent into a dead network is lost without a word. */
static void _outage (const void *with)
{
    const bool *success = with;
    struct task task = { .program = *success ? _obey : program_counts_signals, .brief = true };

    if (unshare (CLONE_NEWNET) < 0)
        skip ("only root may make a network namespace");
    _carrier (true);
    task_begin (&task);
    task_expect_output (&task, "up ");
    _carrier (false);
    kill (task.program_pid, SIGQUIT);
    poll (NULL, 0, 8000);
    _carrier (true);
    task_expect_redial (&task, *success ? "exit 0" : "exit 5");
    /* It is acknowledged, but by whom? */
    task_expect_alive (&task);
    task_dismiss (&task, W_EXITCODE (*success ? 0 : 5, 0));
}

/* Strangers. */

struct stranger {
    const char *says;
    size_t length;
    uint32_t announced;         /* the frame's length; 0: there is no header */
};

#define BYTES(text) .says = (text), .length = sizeof (text) - 1
#define FRAME(text) BYTES (text), .announced = sizeof (text) - 1

static void _speak (const struct task *task, const struct stranger *stranger)
{
    unsigned char h[FRAME_HEADER] = { 'S', 'p', 'T', 'F', 0, FRAME_VERSION };

    for (int i = 0; i < 4; i++)
        h[8 + i] = (unsigned char)(stranger->announced >> (24 - 8 * i));
    if (stranger->announced)
        give (task->line, h, sizeof (h));
    give (task->line, stranger->says, stranger->length);
}

static void _strange (const void *with)
{
    struct task task = { .program = program_lives, .grace = 100 };

    task_begin (&task);
    task_expect_output (&task, "up ");
    _speak (&task, with);
    task_expect_hang_up (&task);
    task_expect_redial (&task, NULL);
    if (task_state (task.program_pid) != 'S')
        die ("a stranger has stopped the program");
    task_tell (&task, "STOP");
    task_expect_stopped (&task);
}

static void _strange_farewell (const void *with)
{
    struct task task = { .program = program_exits_3 };

    task_begin (&task);
    task_expect_report (&task, "exit 3");
    _speak (&task, with);
    task_expect_hang_up (&task);
    task_expect_redial (&task, "exit 3");
    task_dismiss (&task, W_EXITCODE (3, 0));
}

static void _early_farewell (const void *with __attribute__ ((unused)))
{
    struct task task = { .program = program_counts_signals };

    task_begin (&task);
    task_expect_output (&task, "up ");
    task_tell (&task, "BYE");
    task_expect_alive (&task);
    kill (task.program_pid, SIGQUIT);
    task_expect_report (&task, "exit 5");
    task_expect_alive (&task);
    task_dismiss (&task, W_EXITCODE (5, 0));
}

static void _in_pieces (const void *with __attribute__ ((unused)))
{
    struct task task = { .program = program_lives, .grace = 100 };
    struct frame *frame = frame_create ();
    const char *bytes;
    size_t length;

    task_begin (&task);
    task_expect_output (&task, "up ");
    frame_add (frame, "PROOF", TASK_PROOF);
    frame_add (frame, "STOP", "1");
    bytes = frame_bytes (frame, 0, &length);
    for (size_t i = 0; i < length; i++) {
        give (task.line, bytes + i, 1);
        poll (NULL, 0, 2);
    }
    frame_destroy (frame);
    task_expect_stopped (&task);
}

/* Also where a rank's own connection did not have it. */
static void _looked_after (const void *with __attribute__ ((unused)))
{
    struct task task = { .program = program_lives };

    task_begin (&task);
    task_expect_keepalive (&task);
    task_hang_up (&task, false);
    task_expect_redial (&task, NULL);
    poll (NULL, 0, 100);
    task_expect_keepalive (&task);
}

static const struct {
    const char *sentence;
    struct stranger with;
} strangers[] = {
    { "hung up on: who speaks another protocol", { BYTES ("GET / HTTP/1.0\r\n\r\n") } },
    { "hung up on: a frame above the ceiling", { BYTES (""), .announced = 4097 } },
    { "hung up on: a frame without an end",
      { FRAME ("PROOF=" TASK_PROOF "\0STOP=1") } },
    { "hung up on: STOP without a proof", { FRAME ("STOP=1\0") } },
    { "hung up on: STOP with a wrong proof", { FRAME ("PROOF=" TASK_TOKEN "\0STOP=1\0") } },
    { "hung up on: STOP with half a proof", { FRAME ("PROOF=fedcba9876543210\0STOP=1\0") } },
};

static const struct stranger wrong_farewell = { FRAME ("PROOF=" TASK_TOKEN "\0BYE=1\0") };

/* Their time is spent waiting, so they wait together. */
static const struct {
    const char *sentence;
    void (*keep) (const void *with);
    bool with;
} slow[] = {
    { "nobody there: the program goes on, one rank says so", _gone, false },
    { "nobody there for a moment: dialled again", _refused_once, false },
    { "nobody there for a moment, ended: told at once", _refused_once, true },
    { "somebody there who says nothing: it ends", _mute, false },
    { "somebody there who always hangs up: it ends", _rude, false },
    { "ended while the network is dead: told when it is back", _outage, false },
    { "success while the network is dead: told when it is back", _outage, true },
};

static void _begin_slow (pid_t pid[COUNT (slow)])
{
    fflush (stdout);
    for (size_t i = 0; i < COUNT (slow); i++)
        if ((pid[i] = fork ()) == 0)
            exit (promise (slow[i].sentence, slow[i].keep, &slow[i].with) ? 0 : 1);
}

static bool _end_slow (const pid_t pid[COUNT (slow)])
{
    bool kept = true;
    int status;

    for (size_t i = 0; i < COUNT (slow); i++)
        kept &= waitpid (pid[i], &status, 0) == pid[i] && status == 0;
    return kept;
}

int main (void)
{
    static const bool yes = true, no = false;
    pid_t pid[COUNT (slow)];
    bool kept = true;

    _begin_slow (pid);
    for (size_t i = 0; i < COUNT (strangers); i++)
        kept &= promise (strangers[i].sentence, _strange, &strangers[i].with);
    kept &= promise ("closed while it runs: dialled again", _broken_while_it_runs, &no);
    kept &= promise ("reset while it runs: dialled again", _broken_while_it_runs, &yes);
    kept &= promise ("closed while it stops: dialled again", _broken_while_it_stops, NULL);
    kept &= promise ("closed when it has ended: told again", _broken_when_it_ended, &no);
    kept &= promise ("reset when it has ended: told again", _broken_when_it_ended, &yes);
    kept &= promise ("ended while the connection is broken: told", _ended_while_broken, NULL);
    kept &= promise ("nobody there when it has ended: it ends at once", _gone_when_it_ended, NULL);
    kept &= promise ("hung up on: BYE with a wrong proof", _strange_farewell, &wrong_farewell);
    kept &= promise ("BYE before the end changes nothing", _early_farewell, NULL);
    kept &= promise ("success: acknowledged is as good as answered", _delivered, NULL);
    kept &= promise ("success, and last words to come: answered", _undismissed, &no);
    kept &= promise ("failure: answered", _undismissed, &yes);
    kept &= promise ("STOP byte by byte is STOP", _in_pieces, NULL);
    kept &= promise ("a connection whose other end is gone would be noticed", _looked_after, NULL);
    kept &= _end_slow (pid);
    return kept ? 0 : 1;
}
