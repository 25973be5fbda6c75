/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-supervise and its task, where neither unit/supervise.golden, which tells what is decided, nor a step of
 * a real Slurm (system/ending.bats, signals.bats, slurm.bats) shows what the kernel does.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/fork_request.h"
#include "protocol/supervisor_config.h"
#include "simulation.h"
#include "supervision.h"

#define NO_WRAPPER "valgrind does not let every signal through"

/* Programs. */

static void _is_not_executed (void)
{
    prctl (PR_SET_NAME, FORK_LIFE_NAME);
    _exit (3);
}

static void _dies_by (int number)
{
    const struct rlimit no_core = { 0, 0 };

    setrlimit (RLIMIT_CORE, &no_core);
    signal (number, SIG_DFL);
    raise (number);
    _exit (98);
}

static void _dies_by_sigsegv (void)
{
    _dies_by (SIGSEGV);
}

static void _dies_by_sigterm (void)
{
    _dies_by (SIGTERM);
}

static void _dies_by_64 (void)
{
    _dies_by (64);
}

/* It stops at its next exec and at every signal, and its parent has to continue it. */
static void _ask_to_be_traced (void)
{
    if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit (96);
}

/* As a task that slurmstepd starts for a parallel debugger. */
static void _execs_traced (void)
{
    _ask_to_be_traced ();
    execl ("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
}

static void _dies_traced (void)
{
    _ask_to_be_traced ();
    _dies_by (SIGTERM);
}

static void _blocks_sigterm_again_and_again (void)
{
    sigset_t set;

    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    program_print ("up ");
    for (int how = SIG_BLOCK;; how = how == SIG_BLOCK ? SIG_UNBLOCK : SIG_BLOCK) {
        sigprocmask (how, &set, NULL);
        poll (NULL, 0, 1);
    }
}

/* The program ends by itself. */

static void _expect_end (void (*program) (void), const char *report, int status)
{
    struct task task = { .program = program };

    task_start (&task);
    task_expect_report_and_exit (&task, report, status);
    task_expect_no_descendants ();
    task_expect_stderr (&task, "");
}

TEST ("a task that has not executed its program is reported as that")
{
    _expect_end (_is_not_executed, "unstarted 3", W_EXITCODE (3, 0));
}

TEST ("SIGSEGV is reported, and the supervisor dumps no core")
{
    _expect_end (_dies_by_sigsegv, "signal 11", W_EXITCODE (0, 11));
}

TEST ("signal 64, the highest, is reported")
{
    if (task_is_wrapped ())
        skip (NO_WRAPPER);
    _expect_end (_dies_by_64, "signal 64", W_EXITCODE (0, 64));
}

TEST ("a program that asks its parent to trace it goes on after exec")
{
    _expect_end (_execs_traced, "exit 7", W_EXITCODE (7, 0));
}

TEST ("... and its signals reach it")
{
    _expect_end (_dies_traced, "signal 15", W_EXITCODE (0, 15));
}

static bool _is_open (pid_t pid, int fd)
{
    char path[64], to[64];

    snprintf (path, sizeof (path), "/proc/%d/fd/%d", (int)pid, fd);
    return readlink (path, to, sizeof (to)) >= 0;
}

/* The supervisor stops when it begins or ends its next system call. */
static void _trace_to_system_call (const struct task *task)
{
    int status;

    ptrace (PTRACE_SYSCALL, task->pid, NULL, NULL);
    if (waitpid (task->pid, &status, 0) != task->pid || !WIFSTOPPED (status))
        die ("tf-supervise cannot be traced");
}

TEST ("when slurmstepd dies, its supervisors end their tasks")
{
    struct task task = { .program = program_sleeps, .slurmstepd_dies = true, .stop_grace = 1 };

    task_start (&task);
    task_expect_output (&task, "up ");
    kill (task.slurmstepd, SIGKILL);
    task_expect_report_and_exit (&task, "signal 15", SIGTERM);
    waitpid (task.slurmstepd, NULL, 0);
    task_expect_no_descendants ();
}

/* Before tf-supervise was executed: the program dies of SIGTERM as it starts. */
TEST ("... also if it dies before the supervisor starts")
{
    struct task task = { .program = program_sleeps, .slurmstepd = 1, .starts_nothing = true };

    task_start (&task);
    task_expect_report_and_exit (&task, "signal 15", SIGTERM);
    task_expect_no_descendants ();
}

/*
 * A signal arrives when the supervisor reads signals no more: it has closed its connection, and
 * is about to end by its program's signal.
 */
TEST ("a supervisor ends by its program's signal, although another one is pending")
{
    struct task task = { .program = _dies_by_sigterm };

    if (task_is_wrapped ())
        skip ("a wrapper has other system calls");
    task_start (&task);
    task_expect_report (&task, "signal 15");
    if (ptrace (PTRACE_SEIZE, task.pid, NULL, NULL) < 0)
        skip ("a process may not trace its children here");
    ptrace (PTRACE_INTERRUPT, task.pid, NULL, NULL);
    waitpid (task.pid, NULL, 0);
    task_send_order (&task, ORDER_EXIT);
    while (_is_open (task.pid, SUPERVISOR_RENDEZVOUS_FD))
        _trace_to_system_call (&task);
    kill (task.pid, SIGUSR1);
    ptrace (PTRACE_DETACH, task.pid, NULL, NULL);
    task_expect_exit (&task, W_EXITCODE (0, SIGTERM));
}

/*
 * KillWait may not have begun: there are SIGTERMs that are warnings. It is blocked for moments, as by shells
 * and the C library; one of five is seen in it almost certainly.
 */
TEST ("a program that only serves gets no SIGTERM from Slurm if it only blocks it for moments")
{
    struct task tasks[5];

    for (size_t i = 0; i < COUNT (tasks); i++) {
        tasks[i] = (struct task){ .program = _blocks_sigterm_again_and_again,
                                  .forward_signals = true,
                                  .serves = true,
                                  .kill_wait = 1 };
        task_start (&tasks[i]);
        task_expect_output (&tasks[i], "up ");
        kill (tasks[i].pid, SIGTERM);
    }
    poll (NULL, 0, 2000);
    for (size_t i = 0; i < COUNT (tasks); i++)
        if (kill (tasks[i].program_pid, 0) < 0)
            die ("the program was ended");
    for (size_t i = 0; i < COUNT (tasks); i++) {
        task_send_order (&tasks[i], ORDER_STOP);
        task_expect_report_and_exit (&tasks[i], "stopped", 0);
    }
}

/* Signs of life. */

static void _computes (void)
{
    program_print ("up ");
    alarm (PROGRAM_LIFE_S);
    for (;;)
        ;
}

/* Returns the end at which the test sends what a program would. */
static int _open_notify (struct task *task)
{
    int pair[2], yes = 1;

    if (socketpair (AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0
        || setsockopt (pair[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof (yes)) < 0
        || (task->notify = fcntl (pair[1], F_DUPFD_CLOEXEC, SUPERVISOR_LAST_FD + 20)) < 0
        || (task->sender = fcntl (pair[0], F_DUPFD, SUPERVISOR_LAST_FD + 20)) < 0)
        die ("a socket for messages: %s", strerror (errno));
    close (pair[0]);
    close (pair[1]);
    return task->sender;
}

static void _say (int program, const char *message)
{
    if (send (program, message, strlen (message), 0) < 0)
        die ("send: %s", strerror (errno));
}

/* The program computes: that is told if it is silent for half of the time, and only then. */
static struct signs _expect_busy (const struct task *task)
{
    struct signs signs = task_expect_signs (task);
    bool moves = signs_move (&signs, task->watchdog * INT64_C (1000));

    if (signs.busy == moves)
        die ("silent for %d ms, %soverdue, and %sbusy", signs.silent_ms, signs.overdue ? "" : "not ",
             signs.busy ? "" : "not ");
    return signs;
}

/* A look for nothing at all of /proc, with each step, is what a step of many tasks pays most for. */
TEST ("a supervisor tells whether its program computes while it is silent, and not while it gives signs")
{
    struct task task = { .program = _computes, .stop_grace = 1, .watchdog = 4 };
    int program = _open_notify (&task);

    task_start (&task);
    task_expect_output (&task, "up ");
    /* What was said before the life has begun does not count. */
    poll (NULL, 0, MOMENT_MS);
    _say (program, "WATCHDOG=1\nSTATUS=step 1");
    if (_expect_busy (&task).source != SIGNS_MESSAGES)
        die ("a message is not told");
    /* Also what is news just after an answer. */
    do {
        poll (NULL, 0, 300);
        task_send_order (&task, ORDER_TELL);
    } while (!_expect_busy (&task).overdue);
    _say (program, "WATCHDOG=1\nSTATUS=step 2");
    while (_expect_busy (&task).messages < 2)
        ;
    close (program);
}

TEST ("what a program says before its supervisor has learnt of its life counts")
{
    struct task task = {
        .program = program_sleeps, .restarts = 1, .watchdog = 4, .early = "WATCHDOG=1\nSTATUS=step 7"
    };
    int program = _open_notify (&task);
    struct signs signs;

    task_start (&task);
    signs = task_expect_signs (&task);
    if (signs.source != SIGNS_MESSAGES || signs.step != 7)
        die ("it is at step %d", signs.step);
    close (program);
}

TEST ("no signal is forwarded after the program's end")
{
    struct task task = { .program = program_exits_3, .forward_signals = true };

    if (task_is_wrapped ())
        skip (NO_WRAPPER);
    task_start (&task);
    task_expect_report (&task, "exit 3");
    send_all_signals (task.pid);
    task_expect_running (&task);
    task_order_exit (&task, W_EXITCODE (3, 0));
}

TEST ("a supervisor without its configuration kills its program")
{
    struct task task = { .program = program_ignores_sigterm, .misconfigured = true };

    task_start (&task);
    task_expect_exit (&task, W_EXITCODE (1, 0));
    waitpid (task.fork_server, NULL, 0);
    task_expect_no_descendants ();
    task_expect_stderr (&task, "slurmstepd: error: spank_tf: tf-supervise: STOP_GRACE of the supervisor's "
                               "configuration is not 0 to 1000000\n");
}

/* What a supervisor costs. */

TEST ("an idle supervisor uses no CPU time")
{
    struct task task = { .program = program_sleeps };

    task_start (&task);
    task_expect_output (&task, "up ");
    task_expect_idle (&task);
}

/* The watch looks every three seconds, also at a task that is being stopped; its grace every five. */
TEST ("... nor while it waits for a task that is watched to stop")
{
    struct task task = { .program = program_ignores_sigterm, .stop_grace = 100, .watchdog = 60 };

    task_start (&task);
    task_expect_output (&task, "up ");
    /* It is not young any more, and obeys at once. */
    poll (NULL, 0, 1200);
    task_send_order (&task, ORDER_STOP);
    poll (NULL, 0, 3300);
    task_expect_idle (&task);
}

TEST ("a supervisor keeps none of its task's descriptors open")
{
    struct task task = { .program = program_sleeps };

    task_start (&task);
    task_expect_descriptors (&task);
}
