/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-supervise: the parent of a task's program, in a step whose tasks may have to be stopped. A
 * task that has its answer forks: the child becomes the program, and the parent execs this, with
 * the descriptors and the environment that supervisor_config.h describes.
 *
 * It waits until the program ends, reports that to the rendezvous, and ends in the same way; or
 * until the rendezvous orders to stop the task: then it ends all its descendants and exits with 0.
 * A program that may be started again ends with all its descendants, and is started again on an order,
 * or, if the rendezvous has ended and the failure concerns no other task, without one.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/descriptors.h"
#include "common/errtext.h"
#include "common/version.h"
#include "descendants.h"
#include "lives.h"
#include "oom_kills.h"
#include "protocol/exit_report.h"
#include "protocol/supervisor_config.h"
#include "signals.h"
#include "uplink.h"

/* Slurm signals the processes of a step one after the other; the last of a task is not later than this. */
#define SIGNALS_MS 300
/* A process that does not die of SIGKILL hangs in the kernel; Slurm deals with those. */
#define KILL_MS 30000

struct supervisor {
    enum { RUNNING, STOPPING, ENDED } state;
    struct supervisor_config config;
    struct uplink *uplink;
    struct signals signals;
    struct deadline grace;      /* while STOPPING */
    int oom_kills;              /* of the task's cgroup before its program started, or -1 */
    bool reaped;                /* the program; another process may have its pid now */
    int status;                 /* wait status to end with */
    bool stopped;               /* on an order of the rendezvous */
    bool gone;                  /* the rendezvous has ended */
    struct lives lives;
    struct deadline alone;      /* when to start the program again without the rendezvous */
    struct exit_report report;  /* when ENDED */
};

/* Where messages go. */
static int messages = STDERR_FILENO;

static void _send_report (struct supervisor *s)
{
    struct life_report life = lives_report (&s->lives, signals_ask_to_end (&s->signals));

    uplink_report (s->uplink, &s->report, &life);
}

/* The rendezvous has learnt how the task ended; now there is something more to know. */
static void _report_again (struct supervisor *s)
{
    if (s->state == ENDED && s->config.restart.times > 0)
        _send_report (s);
}

static void _read_signals (struct supervisor *s)
{
    bool needed = s->state == RUNNING && !s->gone;

    if (signals_read (&s->signals, s->reaped ? 0 : s->config.task, needed))
        _report_again (s);
}

/* The end. */

/*
 * A child has asked its parent to trace it (PTRACE_TRACEME), and has stopped at its exec or at a
 * signal. Let it continue as if it were not traced. The exec shows as SIGTRAP.
 */
static void _do_not_trace (pid_t pid, int number)
{
    ptrace (PTRACE_DETACH, pid, NULL, (void *)(intptr_t)(number == SIGTRAP ? 0 : number));
}

/* False if there are no descendants any more. */
static bool _reap (struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid (-1, &status, WNOHANG)) > 0)
        if (WIFSTOPPED (status) && pid == s->config.task && s->lives.following)
            lives_follow (&s->lives, status, SUPERVISOR_PORT_FD);
        else if (WIFSTOPPED (status))
            _do_not_trace (pid, WSTOPSIG (status));
        else if (pid == s->config.task && !s->reaped) {
            s->status = status;
            s->reaped = true;
        }
    return pid == 0;
}

/* SIGKILL to all descendants. Slurm ends those that belong to other users. */
static void _kill (struct supervisor *s)
{
    struct deadline last = deadline_in_ms (KILL_MS);
    struct pollfd pfd = { .fd = s->signals.fd, .events = POLLIN };

    for (int pause_ms = 1; _reap (s) && !deadline_passed (last) && descendants_kill ();) {
        poll (&pfd, 1, pause_ms);
        _read_signals (s);
        pause_ms = pause_ms < 500 ? 2 * pause_ms : pause_ms;
    }
}

/* When the end of a life is known, others may begin. */
static void _end_descendants (struct supervisor *s)
{
    _kill (s);
    if (_reap (s))
        lives_end (&s->lives, "a process of its former life does not end");
}

static void _end_as (struct supervisor *s, struct exit_report report, int status)
{
    /* In a step that is asked to end, they may be saving their work. */
    if (s->lives.capture && !signals_ask_to_end (&s->signals))
        _end_descendants (s);
    s->state = ENDED;
    s->status = status;
    s->report = report;
    lives_pause (&s->lives);
    _send_report (s);
}

static int _count_oom_kills (void)
{
    return oom_kills ("/proc/self/cgroup", "/sys/fs/cgroup");
}

/*
 * Was the program killed because memory was exhausted? The count alone does not tell: other tasks
 * may be in the same cgroup. A shell whose last command was killed exits with 137.
 */
static bool _is_out_of_memory (const struct supervisor *s, int status)
{
    bool killed = WIFSIGNALED (status) ? WTERMSIG (status) == SIGKILL
                                       : WEXITSTATUS (status) == 128 + SIGKILL;

    return killed && s->oom_kills >= 0 && _count_oom_kills () > s->oom_kills;
}

static struct exit_report _report (const struct supervisor *s, int status)
{
    bool signalled = WIFSIGNALED (status);

    return (struct exit_report){
        .kind = signalled ? EXIT_REPORT_SIGNAL : EXIT_REPORT_EXIT,
        .number = signalled ? WTERMSIG (status) : WEXITSTATUS (status),
        .out_of_memory = _is_out_of_memory (s, status),
    };
}

/*
 * If Slurm is about to kill the program, the program has had SIGTERM and does not get a second one,
 * and it keeps the time that Slurm gives it. A SIGTERM of Slurm's after which no SIGKILL came is
 * of the past: the program has survived it.
 */
static void _stop (struct supervisor *s)
{
    s->grace = deadline_in_ms (s->config.stop_grace * INT64_C (1000));
    if (deadline_passed (s->signals.slurm_kills))
        descendants_terminate ();
    else
        s->grace = deadline_max (s->grace, s->signals.slurm_kills);
    s->state = STOPPING;
    s->stopped = true;
}

/*
 * The signal of which the program has died may be Slurm's to the whole step, and not have reached this
 * process yet. Then it does not ask for another life, or is killed before it can.
 */
static void _await_own_signal (struct supervisor *s)
{
    struct deadline last = deadline_in_ms (SIGNALS_MS);
    struct pollfd pfd = { .fd = s->signals.fd, .events = POLLIN };

    while (!signals_ask_to_end (&s->signals) && !deadline_passed (last)) {
        poll (&pfd, 1, deadline_left_ms (last));
        _read_signals (s);
    }
}

/* A program that ended before it was asked to keeps its own status. */
static void _check_children (struct supervisor *s)
{
    bool left = _reap (s);

    if (s->state == RUNNING && !left && !s->reaped)
        s->status = 1 << 8;      /* exit 1: the task was not a child of this process */
    if (s->state == RUNNING && s->lives.capture && s->reaped && s->status != 0)
        _await_own_signal (s);
    if (s->state == RUNNING && (s->reaped || !left))
        _end_as (s, _report (s, s->status), s->status);
    if (s->state == STOPPING && left && deadline_passed (s->grace)) {
        _kill (s);
        left = false;
    }
    if (s->state == STOPPING && !left)
        _end_as (s, (struct exit_report){ .kind = EXIT_REPORT_STOPPED }, 0);
}

/* Restarts. */

static void _begin_life (struct supervisor *s, pid_t pid)
{
    s->config.task = pid;
    s->state = RUNNING;
    s->reaped = s->stopped = s->signals.withheld = false;
    s->oom_kills = _count_oom_kills ();
    uplink_restarted (s->uplink);
}

/* Every process of the former life is dead: see _end_as (). */
static void _restart (struct supervisor *s)
{
    pid_t pid = -1;

    s->alone = deadline_never ();
    /* Slurm may have asked the task to end at this moment. */
    _read_signals (s);
    if (!signals_ask_to_end (&s->signals))
        pid = lives_next (&s->lives);
    if (pid > 0)
        _begin_life (s, pid);
    else
        _send_report (s);
}

/* A program that has ended by itself keeps its status, unless it waits for its next life. */
static void _obey_stop (struct supervisor *s)
{
    if (s->state == RUNNING)
        _stop (s);
    else if (s->state == ENDED && uplink_is_waiting (s->uplink))
        _end_as (s, (struct exit_report){ .kind = EXIT_REPORT_STOPPED }, 0);
}

static void _obey_restart (struct supervisor *s, int number)
{
    if (s->state == ENDED && number == s->lives.number + 1 && s->lives.capture
        && !signals_ask_to_end (&s->signals))
        _restart (s);
}

/*
 * The program has dumped its core already, so this process is made not dumpable: RLIMIT_CORE alone
 * does not keep a core handler from it. All other signals stay blocked, because one that is pending
 * would end this process instead.
 */
static noreturn void _die_by (int number)
{
    sigset_t others;

    prctl (PR_SET_DUMPABLE, 0);
    signal (number, SIG_DFL);
    sigfillset (&others);
    sigdelset (&others, number);
    sigprocmask (SIG_SETMASK, &others, NULL);
    raise (number);
    _exit (128 + number);
}

static noreturn void _leave (const struct supervisor *s)
{
    if (WIFSIGNALED (s->status))
        _die_by (WTERMSIG (s->status));
    _exit (WEXITSTATUS (s->status));
}

/* The message is dropped if a full pipe would block. */
static void __attribute__ ((format (printf, 1, 2))) _print (const char *fmt, ...)
{
    struct pollfd pfd = { .fd = messages, .events = POLLOUT };
    char text[1280];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    if (poll (&pfd, 1, 0) == 1 && write (messages, text, strlen (text)) < 0)
        return;
}

/* A message, once, and not by a task that was stopped: then the others are, too. */
static void _rendezvous_is_gone (struct supervisor *s)
{
    bool restarts = s->config.restart.times > 0;

    if (s->gone || s->stopped)
        return;
    s->gone = true;
    signals_deliver (&s->signals, s->reaped ? 0 : s->config.task);
    if (s->config.prints)
        _print ("slurmstepd: error: spank_tf: step %s: the rendezvous has ended; its tasks are not "
                "stopped when its work is done%s\n", s->config.step,
                restarts ? ", and not started again together" : "");
}

/* The task has ended, and so has the rendezvous. False if that is for good. */
static bool _waits_alone (struct supervisor *s)
{
    int seconds = lives_alone_after (&s->lives, &s->report);
    struct exit_report_text how;

    if (seconds < 0 || signals_ask_to_end (&s->signals))
        return false;
    if (deadline_is_set (s->alone))
        return true;
    s->alone = deadline_in_ms (seconds * INT64_C (1000));
    _print ("slurmstepd: spank_tf: step %s: rank %d on %s has ended, %s; it is started again in %d s, "
            "without the rendezvous (restarts left: %d)\n", s->config.step, s->config.rank,
            s->config.node, exit_report_describe (&s->report, &how), seconds,
            lives_left (&s->lives) - 1);
    return true;
}

/* False when the supervisor has nothing more to do with the rendezvous. */
static bool _serve_uplink (struct supervisor *s, short revents)
{
    switch (uplink_serve (s->uplink, revents)) {
        case UPLINK_NOTHING:
            break;
        case UPLINK_STOP:
            _obey_stop (s);
            break;
        case UPLINK_EXIT:
            return false;
        case UPLINK_RESTART:
            _obey_restart (s, uplink_life (s->uplink));
            break;
        case UPLINK_NO_ANSWER:
            _rendezvous_is_gone (s);
            return false;
        case UPLINK_GONE:
            _rendezvous_is_gone (s);
            return s->state != ENDED || _waits_alone (s);
    }
    return true;
}

static void _run (struct supervisor *s)
{
    bool going_on = true;

    /* The program may have ended before this one started. */
    _check_children (s);
    while (going_on) {
        struct pollfd pfd[2] = { { .fd = s->signals.fd, .events = POLLIN } };
        struct deadline next = deadline_min (uplink_poll (s->uplink, &pfd[1]), s->alone);

        if (s->state == STOPPING)
            next = deadline_min (next, s->grace);
        else if (s->state == RUNNING && s->signals.withheld)
            next = deadline_min (next, s->signals.last_chance);
        poll (pfd, 2, deadline_left_ms (next));
        _read_signals (s);
        _check_children (s);
        if (s->state == RUNNING && signals_last_chance (&s->signals, s->config.task))
            _stop (s);
        if (deadline_passed (s->alone))
            _restart (s);
        going_on = _serve_uplink (s, pfd[1].revents);
    }
    uplink_destroy (s->uplink);
    lives_clear (&s->lives);
}

/* The beginning. */

/*
 * stdin, stdout and, but for the supervisor that prints, stderr belong to the program. The signalfd
 * takes their numbers, so that a later open () cannot reuse them. A program that may be started again
 * has them in its next life.
 */
static void _release_stdio (const struct supervisor *s)
{
    if (s->config.restart.times > 0)
        return;
    if (!s->config.prints)
        dup2 (s->signals.fd, STDERR_FILENO);
    dup2 (s->signals.fd, STDOUT_FILENO);
    dup2 (s->signals.fd, STDIN_FILENO);
}

/* Without the byte the task sees end-of-file and exits, and is reaped like any program. */
static void _let_task_continue (void)
{
    ssize_t n = write (SUPERVISOR_READY_FD, "", 1);

    (void)n;
    close (SUPERVISOR_READY_FD);
}

/* A new life must not inherit this process' own descriptors. */
static void _arrange_descriptors (struct supervisor *s)
{
    for (int fd = SUPERVISOR_RENDEZVOUS_FD; fd <= SUPERVISOR_PORT_FD; fd++)
        fcntl (fd, F_SETFD, FD_CLOEXEC);
    if (s->config.restart.times > 0)
        messages = SUPERVISOR_MESSAGES_FD;
}

/* A new life may have a higher limit again. */
static void _dump_no_core (void)
{
    struct rlimit limit;

    if (getrlimit (RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        setrlimit (RLIMIT_CORE, &limit);
    }
}

static int _prepare (struct supervisor *s, struct errtext *err)
{
    if (supervisor_config_decode (&s->config, environ, err) < 0)
        return -1;
    descriptors_close_above (supervisor_config_last_fd (&s->config));
    if (signals_open (&s->signals, &s->config) < 0)
        return errtext_set (err, "%s", strerror (errno));
    s->oom_kills = _count_oom_kills ();
    _arrange_descriptors (s);
    lives_init (&s->lives, &s->config);
    return (s->uplink = uplink_create (SUPERVISOR_RENDEZVOUS_FD, &s->config, err)) ? 0 : -1;
}

int main (int argc, char *argv[])
{
    struct supervisor s = { .signals.fd = -1, .alone = deadline_never () };
    struct errtext err;

    if (version_is_wanted (argc, argv))
        return version_print ();
    if (fcntl (SUPERVISOR_RENDEZVOUS_FD, F_GETFD) < 0 || fcntl (SUPERVISOR_READY_FD, F_GETFD) < 0) {
        _print ("tf-supervise is started by spank_tf, for --tf-tasks\n");
        return 1;
    }
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    _dump_no_core ();
    if (_prepare (&s, &err) < 0) {
        _print ("slurmstepd: error: spank_tf: tf-supervise: %s\n", err.text);
        _kill (&s);
        _exit (1);
    }
    _let_task_continue ();
    _release_stdio (&s);
    _run (&s);
    _leave (&s);
}
