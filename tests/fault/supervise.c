/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-supervise and its task. It reports how the program ended and exits in the same way. If the
 * rendezvous orders it, it stops the program and all its descendants. Signals reach the program
 * as if there were no supervisor. unit/supervise.golden tells what is decided, and when; here is
 * what the kernel does with it.
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

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

#define OUTPUT_BYTES (4 << 20)
#define MAX_PROCESSES 200
#define CHAINS 8
#define MAX_MEMORY_KIB 4096         /* VmRSS; most of it is libc, which is shared */

#define NO_WRAPPER "valgrind does not let every signal through"
#define NEEDS_USER "only root can start it as another user, and that user has no valgrind"

/* Programs. */

static void _exits_0 (void)
{
    _exit (0);
}

static void _is_not_executed (void)
{
    prctl (PR_SET_NAME, FORK_LIFE_NAME);
    _exit (3);
}

static void _exits_255 (void)
{
    _exit (255);
}

static void _dies_by (int number)
{
    const struct rlimit no_core = { 0, 0 };

    setrlimit (RLIMIT_CORE, &no_core);
    signal (number, SIG_DFL);
    raise (number);
    _exit (98);
}

static void _dies_by_sigkill (void)
{
    _dies_by (SIGKILL);
}

static void _dies_by_sigsegv (void)
{
    _dies_by (SIGSEGV);
}

static void _dies_by_sigabrt (void)
{
    _dies_by (SIGABRT);
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

static void _print_all_and_exit (int number __attribute__ ((unused)))
{
    static char bytes[OUTPUT_BYTES];
    size_t left = sizeof (bytes);
    ssize_t n;

    while (left > 0 && (n = write (STDOUT_FILENO, bytes, left)) > 0)
        left -= (size_t)n;
    _exit (7);
}

static void _handles_sigterm (void)
{
    signal (SIGTERM, _print_all_and_exit);
    program_sleeps ();
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

static void _print_and_exit (int number __attribute__ ((unused)))
{
    /* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): it calls nothing but write (). */
    program_print ("asked ");
    _exit (7);
}

static void _says_that_it_was_asked (void)
{
    signal (SIGTERM, _print_and_exit);
    program_sleeps ();
}

/* A grandchild in a session of its own, whose parent has exited. */
static void _daemonize (void)
{
    pid_t pid = fork ();

    if (pid != 0) {
        waitpid (pid, NULL, 0);
        return;
    }
    setsid ();
    signal (SIGTERM, SIG_IGN);
    if (fork () == 0)
        program_sleeps ();
    _exit (0);
}

static void _starts_daemon (void)
{
    _daemonize ();
    program_wait ();
}

static void _leaves_daemon (void)
{
    _daemonize ();
    _exit (3);
}

static void _is_script (void)
{
    execl ("/bin/sh", "sh", "-c", "(sleep 120; echo late) & printf 'up '; sleep 120; echo over",
           (char *)NULL);
}

static void _stops_itself (void)
{
    program_print ("up ");
    raise (SIGSTOP);
    program_wait ();
}

static void _limit_processes (void)
{
    const struct rlimit few = { MAX_PROCESSES, MAX_PROCESSES };

    if (setrlimit (RLIMIT_NPROC, &few) < 0)
        _exit (97);
    signal (SIGTERM, SIG_IGN);
}

static void _is_fork_bomb (void)
{
    bool printed = false;

    _limit_processes ();
    for (;;) {
        pid_t pid = fork ();

        if (pid == 0)
            alarm (PROGRAM_LIFE_S);
        else if (pid < 0 && !printed) {
            printed = true;
            program_print ("f");
        }
    }
}

/* Chains of processes: each forks and exits, so /proc never shows a current list of them. */
static void _forks_all_the_time (void)
{
    _limit_processes ();
    for (int i = 0; i < CHAINS; i++)
        if (fork () == 0)
            for (;;) {
                pid_t pid = fork ();

                if (pid > 0)
                    _exit (0);
                if (pid == 0)
                    alarm (PROGRAM_LIFE_S);
            }
    program_sleeps ();
}

/* The program ends by itself. */

struct end {
    void (*program) (void);
    const char *report;
    int status;
};

static void _test_end (const void *arg)
{
    const struct end *end = arg;
    struct task task = { .program = end->program };

    task_start (&task);
    task_expect_report_and_exit (&task, end->report, end->status);
    task_expect_no_descendants ();
    task_expect_stderr (&task, "");
}

static void _test_end_by_64 (const void *arg)
{
    if (task_is_wrapped ())
        skip (NO_WRAPPER);
    _test_end (arg);
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

/* A file with this text, whose name is then in path, which is a template. */
static void _make_file (char *path, const char *text)
{
    int fd = mkstemp (path);

    if (fd < 0 || write (fd, text, strlen (text)) < 0)
        die ("%s: %s", path, strerror (errno));
    close (fd);
}

/* The report of that end says this, and so does another one on a new connection. */
static void _test_failure (struct task *task, const char *report, int status, const char *text)
{
    struct failure_text failure;

    task->failure = &failure;
    task_start (task);
    task_expect_report (task, report);
    if (strcmp (failure.text, text) != 0)
        die ("the report says \"%s\" instead of \"%s\"", failure.text, text);
    failure.text[0] = '?';
    task_close_connection (task);
    task_expect_reconnect (task, report);
    if (strcmp (failure.text, text) != 0)
        die ("the second report says \"%s\" instead of \"%s\"", failure.text, text);
    task_order_exit (task, status);
    task_expect_no_descendants ();
}

TEST ("the last line of its log file is reported, if a program failed")
{
    char log[] = "/tmp/supervise.XXXXXX";
    struct task failing = { .program = program_exits_3, .log = log };
    struct task dying = { .program = _dies_by_sigkill, .log = log };
    struct task succeeding = { .program = _exits_0, .log = log };

    _make_file (log, "a line\nand another\n");
    _test_failure (&failing, "exit 3", W_EXITCODE (3, 0), "and another");
    _test_failure (&dying, "signal 9", W_EXITCODE (0, 9), "and another");
    _test_failure (&succeeding, "exit 0", 0, "");
    unlink (log);
}

/* How the program ends when slurmstepd is killed: by SIGTERM, or by SIGKILL if it ignores that. */
static void _kill_slurmstepd_of (void (*program) (void))
{
    struct task task = { .program = program, .slurmstepd_dies = true, .stop_grace = 1 };

    task_start (&task);
    task_expect_output (&task, "up ");
    kill (task.slurmstepd, SIGKILL);
    task_expect_report_and_exit (&task, "signal 15", SIGTERM);
    waitpid (task.slurmstepd, NULL, 0);
    task_expect_no_descendants ();
}

TEST ("when slurmstepd dies, its supervisors end their tasks")
{
    _kill_slurmstepd_of (program_sleeps);
}

TEST ("... also a program that ignores SIGTERM")
{
    _kill_slurmstepd_of (program_ignores_sigterm);
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

TEST ("a daemon that the program leaves goes on running")
{
    struct task task = { .program = _leaves_daemon };

    task_start (&task);
    task_expect_output (&task, "up ");
    task_expect_report_and_exit (&task, "exit 3", W_EXITCODE (3, 0));
    poll (NULL, 0, 100);
    /* The daemon is a child of this process now. */
    if (waitpid (-1, NULL, WNOHANG) != 0)
        die ("tf-supervise has ended a daemon that the program left");
}

/* The rendezvous orders to stop the program. */

static void _stop_at_once (const void *arg)
{
    void (*const *program) (void) = arg;
    struct task task = { .program = *program, .stop_grace = 100 };

    task_start_and_stop (&task, "up ");
    task_expect_stopped (&task);
}

TEST ("STOP=ask: everything that the program prints at SIGTERM arrives")
{
    struct task task = { .program = _handles_sigterm, .stop_grace = 100 };
    size_t bytes;

    task_start_and_stop (&task, "up ");
    if ((bytes = task_read_output (&task)) != OUTPUT_BYTES)
        die ("%zu of %d bytes arrived", bytes, OUTPUT_BYTES);
    task_expect_stopped (&task);
}

/* In whole milliseconds, as deadlines are: one that is set later than this passes later, too. */
static int64_t _now_ms (void)
{
    return now_us () / 1000;
}

static void _expect_later (int64_t begin_ms, int ms, const char *what)
{
    int after_ms = (int)(_now_ms () - begin_ms);

    if (after_ms < ms)
        die ("%s after %d ms", what, after_ms);
}

/* The program has its whole grace period. */
static void _stop_after_grace (const void *arg)
{
    void (*const *program) (void) = arg;
    struct task task = { .program = *program, .stop_grace = 1 };
    int64_t begin;

    task_start (&task);
    task_expect_output (&task, "up ");
    begin = _now_ms ();
    task_send_order (&task, ORDER_STOP);
    task_expect_stopped (&task);
    _expect_later (begin, 1000, "the program was killed");
}

/* Slurm's SIGKILL comes two seconds after its SIGTERM. */
TEST ("a program that only serves does not get SIGTERM from Slurm before KillWait is nearly over")
{
    struct task task = { .program = _says_that_it_was_asked,
                         .forward_signals = true,
                         .serves = true,
                         .kill_wait = 2,
                         .stop_grace = 100 };
    int64_t begin;

    task_start (&task);
    task_expect_output (&task, "up ");
    begin = _now_ms ();
    kill (task.pid, SIGTERM);
    task_expect_output (&task, "asked ");
    _expect_later (begin, 1000, "the program got SIGTERM");
    task_expect_stopped (&task);
}

/* KillWait may not have begun: there are SIGTERMs that are warnings. */
TEST ("... and not even then if it does not handle SIGTERM")
{
    struct task task = { .program = program_sleeps, .forward_signals = true, .serves = true, .kill_wait = 1 };

    task_start (&task);
    task_expect_output (&task, "up ");
    kill (task.pid, SIGTERM);
    poll (NULL, 0, 2000);
    if (kill (task.program_pid, 0) < 0)
        die ("the program was ended");
    task_send_order (&task, ORDER_STOP);
    task_expect_stopped (&task);
}

/* As shells do, and the C library, for a moment each time; one of five is seen in it almost certainly. */
TEST ("... although it is blocked for moments")
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

TEST ("STOP=ask: a program that SIGSTOP has stopped ends")
{
    struct task task = { .program = _stops_itself, .stop_grace = 100 };

    task_start (&task);
    task_expect_output (&task, "up ");
    process_await_state (task.program_pid, 'T');
    task_send_order (&task, ORDER_STOP);
    task_expect_stopped (&task);
}

/* A user without other processes: RLIMIT_NPROC counts all processes of a user. */
static uid_t _unique_user (void)
{
    return 0x70000000u + (uid_t)getpid ();
}

static void _stop_many (const void *arg)
{
    const struct end *end = arg;
    struct task task = { .program = end->program, .user = _unique_user () };
    struct pollfd pfd = { .events = POLLIN };

    if (getuid () != 0 || task_is_instrumented ())
        skip (NEEDS_USER);
    task_start_and_stop (&task, end->report);
    /* This can take longer than usual: hundreds of processes compete for the CPU. */
    pfd.fd = task.connection;
    poll (&pfd, 1, 60000);
    task_expect_report (&task, "stopped");
    /* Several processes may have printed that fork () failed. */
    task_read_output (&task);
    task_order_exit (&task, 0);
    task_expect_no_descendants ();
}

/*
 * tf-supervise has no permission to signal the program. It exits nevertheless. The program may not
 * have begun to sleep yet.
 */
TEST ("STOP=ask: another user's program goes on, the supervisor exits")
{
    struct task task = { .program = program_ignores_sigterm,
                         .user = _unique_user (),
                         .program_keeps_user = true };

    if (getuid () != 0 || task_is_instrumented ())
        skip (NEEDS_USER);
    task_start_and_stop (&task, "up ");
    task_expect_report_and_exit (&task, "stopped", 0);
    process_await_state (task.program_pid, 'S');
}

/* Signals. */

/* All signals that a process can block, without 32 and 33, which glibc reserves. */
static void _send_all_signals (const struct task *task)
{
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGKILL && number != SIGSTOP && (number <= 31 || number >= SIGRTMIN))
            kill (task->pid, number);
}

/* What a supervisor costs. */

static void _sleeps_without_core (void)
{
    const struct rlimit no_core = { 0, 0 };

    setrlimit (RLIMIT_CORE, &no_core);
    program_sleeps ();
}

/* An order to stop that comes later changes nothing. */
TEST ("STOP=abort: SIGABRT ends a program, which is reported as hung")
{
    struct task task = { .program = _sleeps_without_core, .stop_grace = 1 };

    task_start (&task);
    task_expect_output (&task, "up ");
    task_send_order (&task, ORDER_ABORT);
    task_send_order (&task, ORDER_STOP);
    task_read_output (&task);
    task_expect_report_and_exit (&task, "hung", W_EXITCODE (124, 0));
    task_expect_no_descendants ();
}

TEST ("QUESTION: a supervisor tells whether its program is stopped")
{
    struct task task = { .program = _sleeps_without_core, .stop_grace = 1 };
    struct signs signs;

    task_start (&task);
    task_expect_output (&task, "up ");
    task_send_order (&task, ORDER_TELL);
    signs = task_expect_signs (&task);
    if (signs.source != SIGNS_NONE || signs.life != 0 || signs.stopped || signs.busy || signs.overdue)
        die ("a task that is not watched, and sleeps, has other signs");
    kill (task.program_pid, SIGSTOP);
    process_await_state (task.program_pid, 'T');
    task_send_order (&task, ORDER_TELL);
    if (!task_expect_signs (&task).stopped)
        die ("a program that is stopped is not told");
    task_send_order (&task, ORDER_ABORT);
    task_read_output (&task);
    task_expect_report_and_exit (&task, "hung", W_EXITCODE (124, 0));
}

static void _computes (void)
{
    program_print ("up ");
    alarm (PROGRAM_LIFE_S);
    for (;;)
        ;
}

TEST ("... and whether it computes")
{
    struct task task = { .program = _computes, .stop_grace = 1 };

    task_start (&task);
    task_expect_output (&task, "up ");
    task_send_order (&task, ORDER_TELL);
    if (!task_expect_signs (&task).busy)
        die ("a program that computes is not told");
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
TEST ("... in all that it tells while the program is silent, and not while it gives signs")
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

/* When the program ends, the order is in the socket but not read yet. */
TEST ("a program that ended before STOP=ask was read keeps its exit code")
{
    struct task task = { .program = program_prints_signals, .stop_grace = 100 };

    task_start (&task);
    task_expect_output (&task, "up ");
    kill (task.pid, SIGSTOP);
    process_await_state (task.pid, 'T');
    kill (task.program_pid, SIGQUIT);
    process_await_state (task.program_pid, 'Z');
    task_send_order (&task, ORDER_STOP);
    kill (task.pid, SIGCONT);
    task_expect_report_and_exit (&task, "exit 5", W_EXITCODE (5, 0));
}

TEST ("a signal from Slurm is forwarded once")
{
    struct task task = { .program = program_prints_signals, .forward_signals = true };

    task_start (&task);
    task_expect_output (&task, "up ");
    kill (task.pid, SIGUSR1);
    task_expect_output (&task, "10:0 ");
    task_expect_no_output (&task);
    kill (task.pid, SIGTSTP);
    task_expect_output (&task, "20:0 ");
    task_expect_no_output (&task);
    kill (task.pid, SIGQUIT);
    task_expect_output (&task, "3:0 ");
    task_expect_report_and_exit (&task, "exit 5", W_EXITCODE (5, 0));
}

/*
 * SIGSTOP keeps the program from reading them while they are sent. Then it gets them in the order
 * of their numbers, and every real-time signal with its value.
 */
TEST ("many signals from Slurm at once are all forwarded")
{
    static const int number[] = { SIGWINCH, SIGTERM, SIGUSR2, SIGUSR1, SIGINT };
    struct task task = { .program = program_prints_signals, .forward_signals = true };

    task_start (&task);
    task_expect_output (&task, "up ");
    /* While the program is stopped, its signals are kept, and delivered in the order below. */
    kill (task.program_pid, SIGSTOP);
    process_await_state (task.program_pid, 'T');
    for (size_t i = 0; i < COUNT (number); i++)
        kill (task.pid, number[i]);
    for (int i = 1; i <= 3; i++)
        sigqueue (task.pid, SIGRTMIN, (union sigval){ .sival_int = 1000 * i });
    task_await_signals_forwarded (&task);
    kill (task.program_pid, SIGCONT);
    task_expect_output (&task, "2:0 10:0 12:0 15:0 18:0 28:0 34:1000 34:2000 34:3000 ");
    task_expect_no_output (&task);
}

TEST ("no signal is forwarded after the program's end")
{
    struct task task = { .program = program_exits_3, .forward_signals = true };

    if (task_is_wrapped ())
        skip (NO_WRAPPER);
    task_start (&task);
    task_expect_report (&task, "exit 3");
    _send_all_signals (&task);
    task_expect_running (&task);
    task_order_exit (&task, W_EXITCODE (3, 0));
}

TEST ("a signal to the process group arrives once")
{
    struct task task = { .program = program_prints_signals, .forward_signals = true };

    task_start (&task);
    task_expect_output (&task, "up ");
    kill (task.program_pid, SIGHUP);
    task_expect_output (&task, "1:0 12:0 ");
    task_expect_no_output (&task);
}

TEST ("a signal from another process than slurmstepd is not forwarded")
{
    struct task task = { .program = program_prints_signals, .forward_signals = true };
    pid_t other;

    task_start (&task);
    task_expect_output (&task, "up ");
    if ((other = fork ()) == 0) {
        kill (task.pid, SIGUSR1);
        _exit (0);
    }
    waitpid (other, NULL, 0);
    task_expect_no_output (&task);
    task_expect_running (&task);
}

TEST ("a signal from the terminal arrives once")
{
    struct task task = { .program = program_prints_signals, .forward_signals = true };
    int terminal = posix_openpt (O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (terminal < 0 || grantpt (terminal) < 0 || unlockpt (terminal) < 0
        || (task.terminal = open (ptsname (terminal), O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
        skip ("there are no pseudo-terminals");
    task_start (&task);
    task_expect_output (&task, "up ");
    if (write (terminal, "\003", 1) != 1)
        die ("cannot write to a terminal: %s", strerror (errno));
    task_expect_output (&task, "2:0 ");
    task_expect_no_output (&task);
    task_expect_running (&task);
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

TEST ("a supervisor uses less than 4 MiB")
{
    struct task task = { .program = program_sleeps };
    long kib;

    task_start (&task);
    if (task_is_instrumented ())
        skip ("a sanitizer or valgrind needs memory too");
    /* After a reconnect, which allocates memory. */
    task_close_connection (&task);
    task_expect_reconnect (&task, NULL);
    if ((kib = task_read_status (&task, "VmRSS")) >= MAX_MEMORY_KIB)
        die ("tf-supervise uses %ld KiB", kib);
    printf ("# %ld KiB\n", kib);
}

TEST ("a supervisor keeps none of its task's descriptors open")
{
    struct task task = { .program = program_sleeps };

    task_start (&task);
    task_expect_descriptors (&task);
}

static const struct {
    const char *sentence;
    void (*function) (const void *arg);
    const struct end arg;
} ends[] = {
    { "exit 0 is reported", _test_end, { _exits_0, "exit 0", W_EXITCODE (0, 0) } },
    { "exit 3 is reported", _test_end, { program_exits_3, "exit 3", W_EXITCODE (3, 0) } },
    { "... also by a task that has not executed its program",
      _test_end,
      { _is_not_executed, "unstarted 3", W_EXITCODE (3, 0) } },
    { "exit 255 is reported", _test_end, { _exits_255, "exit 255", W_EXITCODE (255, 0) } },
    { "SIGKILL is reported", _test_end, { _dies_by_sigkill, "signal 9", W_EXITCODE (0, 9) } },
    { "SIGTERM is reported", _test_end, { _dies_by_sigterm, "signal 15", W_EXITCODE (0, 15) } },
    { "SIGSEGV is reported, and the supervisor dumps no core",
      _test_end,
      { _dies_by_sigsegv, "signal 11", W_EXITCODE (0, 11) } },
    { "SIGABRT is reported, and the supervisor dumps no core",
      _test_end,
      { _dies_by_sigabrt, "signal 6", W_EXITCODE (0, 6) } },
    { "signal 64, the highest, is reported",
      _test_end_by_64,
      { _dies_by_64, "signal 64", W_EXITCODE (0, 64) } },
    { "a program that asks its parent to trace it goes on after exec",
      _test_end,
      { _execs_traced, "exit 7", W_EXITCODE (7, 0) } },
    { "... and its signals reach it", _test_end, { _dies_traced, "signal 15", W_EXITCODE (0, 15) } },
};

static const struct {
    const char *sentence;
    void (*function) (const void *arg);
    void (*arg) (void);
} stops[] = {
    { "STOP=ask: SIGTERM ends a program", _stop_at_once, program_sleeps },
    { "STOP=ask: SIGTERM ends a script and the commands that it runs", _stop_at_once, _is_script },
    { "STOP=ask: a program that ignores SIGTERM is killed after its grace period", _stop_after_grace,
      program_ignores_sigterm },
    { "STOP=ask: a daemon in its own session that ignores SIGTERM is killed", _stop_after_grace,
      _starts_daemon },
};

static const struct {
    const char *sentence;
    struct end arg;
} many[] = {
    { "STOP=ask: a fork bomb is killed", { _is_fork_bomb, "f", 0 } },
    { "STOP=ask: processes that fork and exit all the time are killed", { _forks_all_the_time, "up ", 0 } },
};

int main (void)
{
    bool passed = true;

    for (size_t i = 0; i < COUNT (ends); i++)
        passed &= check (ends[i].sentence, ends[i].function, &ends[i].arg);
    for (size_t i = 0; i < COUNT (stops); i++)
        passed &= check (stops[i].sentence, stops[i].function, &stops[i].arg);
    for (size_t i = 0; i < COUNT (many); i++)
        passed &= check (many[i].sentence, _stop_many, &many[i].arg);
    passed &= run_tests ();
    return passed ? 0 : 1;
}
