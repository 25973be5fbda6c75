/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-supervise and its connection to the rendezvous: the connection breaks, the rendezvous ends
 * or does not answer, another program has its port. The task's program goes on, and its exit
 * report is delivered as soon as that is possible.
 */
#include "config.h"

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

/* The connection breaks. */

static void _break_connection (struct task *task, bool reset)
{
    if (reset)
        task_reset_connection (task);
    else
        task_close_connection (task);
}

TEST ("the connection is closed, or reset, while the program runs: it is made again")
{
    struct task task = { .program = program_sleeps, .stop_grace = 100 };

    task_start (&task);
    task_expect_output (&task, "up ");
    for (int i = 0; i < 6; i++) {
        _break_connection (&task, i % 2);
        task_expect_reconnect (&task, NULL);
    }
    task_send_order (&task, ORDER_STOP);
    task_expect_stopped (&task);
}

TEST ("the connection is closed, or reset, after the report: the report is sent again")
{
    struct task task = { .program = program_exits_3 };

    task_start (&task);
    task_expect_report (&task, "exit 3");
    for (int i = 0; i < 6; i++) {
        _break_connection (&task, i % 2);
        task_expect_reconnect (&task, "exit 3");
    }
    task_order_exit (&task, W_EXITCODE (3, 0));
}

/* The first report that can arrive is the one in the new connection. */
TEST ("the program ends while there is no connection: the new one has the report")
{
    struct task task = { .program = program_prints_signals };

    task_start (&task);
    task_expect_output (&task, "up ");
    kill (task.pid, SIGSTOP);
    process_await_state (task.pid, 'T');
    task_reset_connection (&task);
    kill (task.program_pid, SIGQUIT);
    process_await_state (task.program_pid, 'Z');
    kill (task.pid, SIGCONT);
    task_expect_reconnect (&task, "exit 5");
    task_order_exit (&task, W_EXITCODE (5, 0));
}

/* The rendezvous ends. */

#define DOES_NOT_ANSWER \
    "slurmstepd: error: spank_tf: step 12.0: tf-rendezvous does not answer. Its tasks will not be " \
    "stopped when training has finished\n"

/* A pipe whose buffer is full. */
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

/* One supervisor of the step prints a message, unless its stderr is blocked. */
SLOW_TEST ("connections are refused: the program goes on, and one supervisor prints a message")
{
    struct task printer = { .program = program_sleeps, .prints = true }, blocked = printer;
    struct task other = { .program = program_sleeps };
    struct task *const all[] = { &printer, &blocked, &other };

    blocked.stderr_fd = _full_pipe ();
    for (size_t i = 0; i < COUNT (all); i++) {
        task_start (all[i]);
        task_expect_output (all[i], "up ");
    }
    for (size_t i = 0; i < COUNT (all); i++) {
        task_close_listener (all[i]);
        task_close_connection (all[i]);
    }
    /* Not at once: srun may have ended, and Slurm may be about to end the step. */
    poll (NULL, 0, 2000);
    task_expect_stderr (&printer, "");
    /* It tries to connect after 6.2 s, and then after 12.6 s: not between these two calls. */
    poll (NULL, 0, 5500);
    task_expect_idle (&printer);
    for (size_t i = 0; i < COUNT (all); i++) {
        kill (all[i]->pid, SIGSTOP);
        task_open_listener (all[i]);
        kill (all[i]->program_pid, SIGUSR1);
        kill (all[i]->pid, SIGCONT);
        task_expect_reconnect (all[i], "signal 10");
        task_order_exit (all[i], W_EXITCODE (0, SIGUSR1));
    }
    task_expect_stderr (&printer, DOES_NOT_ANSWER);
    task_expect_stderr (&other, "");
}

SLOW_TEST ("connections are refused for a second: a report does not wait for the next attempt")
{
    struct task task = { .program = program_sleeps, .prints = true };
    int64_t begin = now_us ();

    task_start (&task);
    task_expect_output (&task, "up ");
    task_close_listener (&task);
    task_close_connection (&task);
    poll (NULL, 0, 1000);
    task_open_listener (&task);
    kill (task.program_pid, SIGKILL);
    task_expect_reconnect (&task, "signal 9");
    if (!task_is_instrumented () && now_us () - begin > 4500000)
        die ("the report came after %d ms", (int)((now_us () - begin) / 1000));
    task_order_exit (&task, W_EXITCODE (0, SIGKILL));
    task_expect_stderr (&task, "");
}

/* The rendezvous does not answer. */

static void _set_loopback (bool up)
{
    int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq lo = { .ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0 };

    if (fd < 0 || ioctl (fd, SIOCSIFFLAGS, &lo) < 0)
        die ("lo: %s", strerror (errno));
    close (fd);
}

/*
 * What is sent while the network is down is lost, without an error. After 20 s attempts to connect have
 * failed, too.
 */
SLOW_TEST (
    "the network is down when the program ends: the report is sent again, and the program is restarted")
{
    struct task task = { .program = program_prints_signals, .restarts = 1 };

    if (unshare (CLONE_NEWNET) < 0)
        skip ("only root may make a network namespace");
    _set_loopback (true);
    task_start (&task);
    task_expect_output (&task, "up ");
    _set_loopback (false);
    kill (task.program_pid, SIGQUIT);
    task_expect_output (&task, "3 ");
    poll (NULL, 0, 20000);
    _set_loopback (true);
    /* The next attempt may come after five seconds. */
    poll (&(struct pollfd){ .fd = task.listener, .events = POLLIN }, 1, 6000);
    task_expect_reconnect (&task, "exit 5");
    if (task.ago_ms < 5000 || task.life != 0)
        die ("the report says that life %d has ended %d ms ago", task.life, task.ago_ms);
    /* TCP has acknowledged the report now, but the rendezvous has not answered it. */
    task_expect_running (&task);
    task_expect_no_output (&task);
    task_send_life (&task, 1);
    task_expect_output (&task, "up ");
}

/* Forgeries: what another program could send. */

/* A frame of these bytes; then the connection is made again. */
static void _send_forgery (struct task *task, const char *bytes, size_t length, const char *report)
{
    unsigned char h[FRAME_HEADER] = {
        'S', 'p', 'T', 'F', 0, FRAME_VERSION, [FRAME_HEADER - 1] = (unsigned char)length
    };

    send_all (task->connection, h, sizeof (h));
    send_all (task->connection, bytes, length);
    task_expect_close (task);
    task_expect_reconnect (task, report);
}

TEST ("closed: a connection with STOP=ask, without a server token or with the task's token")
{
    static const char without[] = "LIFE=0\0STOP=ask",
                      with[] = "SERVER_TOKEN=" TASK_TOKEN "\0LIFE=0\0STOP=ask";
    struct task task = { .program = program_sleeps, .stop_grace = 100 };

    task_start (&task);
    task_expect_output (&task, "up ");
    _send_forgery (&task, without, sizeof (without), NULL);
    _send_forgery (&task, with, sizeof (with), NULL);
    process_await_state (task.program_pid, 'S');
    task_send_order (&task, ORDER_STOP);
    task_expect_stopped (&task);
}

TEST ("closed: a connection with LEAVE and the task's token")
{
    static const char forged[] = "SERVER_TOKEN=" TASK_TOKEN "\0LIFE=0\0STOP=no\0REPORT=1\0LEAVE=1";
    struct task task = { .program = program_exits_3 };

    task_start (&task);
    task_expect_report (&task, "exit 3");
    _send_forgery (&task, forged, sizeof (forged), "exit 3");
    task_order_exit (&task, W_EXITCODE (3, 0));
}

/* On the task's own connection, and on a new one. */
TEST ("keepalive is on, so that a lost rendezvous is noticed")
{
    struct task task = { .program = program_sleeps };

    task_start (&task);
    task_expect_keepalive (&task);
    task_close_connection (&task);
    task_expect_reconnect (&task, NULL);
    task_expect_keepalive (&task);
}
