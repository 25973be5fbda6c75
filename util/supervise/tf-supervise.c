/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-supervise: the parent of a task's program, in a step whose tasks may have to be stopped. A
 * task that has its answer forks: the child is the fork server, of which each life of the task is a
 * fork, and the parent execs this, with the descriptors and the environment that supervisor_config.h
 * describes.
 *
 * It begins the first life, waits until the program ends, reports that to the rendezvous, and ends in the
 * same way; or until the rendezvous orders to stop the task: then it ends all its descendants and exits
 * with 0. It begins another life, and a spare's first one, on an order only. If slurmstepd dies, it ends the
 * task and itself. In a step with spares it also ends a task that is cut off from the rendezvous for so long
 * that a spare may have its place.
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
#include "last_line.h"
#include "lives.h"
#include "oom_kills.h"
#include "proc.h"
#include "protocol/answer.h"
#include "protocol/exit_report.h"
#include "protocol/fork_request.h"
#include "protocol/signs.h"
#include "protocol/supervisor_config.h"
#include "signals.h"
#include "tee.h"
#include "uplink.h"
#include "watch.h"

/* Slurm signals the processes of a step one after the other; the last of a task is not later than this. */
#define SIGNALS_MS 300
/*
 * What a program does at once, such as to print a line, it does before it is stopped: not all tasks of a step
 * start at the same time, and one may be stopped because another one has ended.
 */
#define YOUNG_MS 1000
#define LOOK_MS 50
/* An end is reported when the output before it has been passed on, but not much later. */
#define OUTPUT_MS 2000
/* A process that does not die of SIGKILL hangs in the kernel; Slurm deals with those. */
#define KILL_MS 30000

struct supervisor {
    enum { RUNNING, STOPPING, ENDED } state;
    struct supervisor_config config;
    struct uplink *uplink;
    struct signals signals;
    struct tee *tee;            /* or NULL */
    struct watch watch;
    int told_on;                /* the connection on which the rendezvous knows of it, or 0 */
    struct deadline grow_up;    /* when its program is not young any more, if it was executed */
    bool stop_ordered;          /* while it is young */
    struct deadline stop_due;   /* ... to look again, and at the latest */
    struct deadline stop_last;
    struct deadline stopping; /* while STOPPING: since when, */
    struct deadline grace; /* ... and until when without SIGKILL */
    pid_t task;                 /* the program; 0: it has ended, and its status is known */
    struct deadline ended;      /* when it did, and, if it was stopped, its children did */
    int oom_kills;              /* of the task's cgroup before its program started, or -1 */
    bool unstarted;             /* it had not executed its program when it ended */
    int status;                 /* wait status to end with */
    bool stopped;               /* on an order of the rendezvous */
    bool hung;                  /* ... because it hangs */
    int stop_status;            /* wait status to end with then */
    bool idle;                  /* a spare that has not got a place: its state is ENDED */
    bool gone;                  /* the rendezvous has ended */
    bool orphaned;              /* slurmstepd has died */
    struct lives lives;
    struct exit_report report;  /* when ENDED */
    struct failure_text failure;
};

static void _send_report (struct supervisor *s)
{
    struct life_report life = lives_report (&s->lives);

    life.asked_signal = signals_asked (&s->signals, &s->report, &life.asked_at);
    life.ago_ms = deadline_ago_ms (s->ended);
    uplink_report (s->uplink, &s->report, &life, &s->failure);
}

/* The rendezvous has learnt how the task ended; now there is something more to know. */
static void _report_again (struct supervisor *s)
{
    if (s->state == ENDED && s->config.restart.times > 0 && signals_asked (&s->signals, &s->report, NULL))
        _send_report (s);
}

static void _read_signals (struct supervisor *s)
{
    bool needed = s->state == RUNNING && !s->gone;

    if (signals_read (&s->signals, s->task, needed))
        _report_again (s);
}

/* The end. */

static bool _is_unstarted (const struct supervisor *s)
{
    return proc_has_name (s->task, FORK_LIFE_NAME);
}

/*
 * A child that has asked its parent to trace it (PTRACE_TRACEME) stops at its exec, which shows as SIGTRAP,
 * and at signals. Let it continue as if it were not traced.
 */
static void _reap (struct supervisor *s)
{
    siginfo_t info = { 0 };
    int status;

    for (; waitid (P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid > 0; info.si_pid = 0) {
        bool is_task = info.si_pid == s->task, unstarted = is_task && _is_unstarted (s);

        if (waitpid (info.si_pid, &status, WNOHANG) != info.si_pid)
            break;
        if (WIFSTOPPED (status))
            ptrace (PTRACE_DETACH, info.si_pid, NULL,
                    (void *)(intptr_t)(WSTOPSIG (status) == SIGTRAP ? 0 : WSTOPSIG (status)));
        else if (is_task) {
            s->status = status;
            s->unstarted = unstarted;
            s->task = 0;
            s->ended = deadline_in_ms (0);
        } else if (lives_reaped (&s->lives, info.si_pid) && s->state == ENDED)
            _send_report (s);
    }
}

/* The fork server waits for another life, and belongs to none. */
static bool _has_descendants (struct supervisor *s)
{
    siginfo_t info;

    _reap (s);
    if (s->lives.fork_server)
        return s->task || descendants_exist (s->lives.fork_server);
    return waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* SIGKILL to all descendants. Slurm ends those that belong to other users. */
static void _kill (struct supervisor *s)
{
    struct deadline last = deadline_in_ms (KILL_MS);
    struct pollfd pfd = { .fd = s->signals.fd, .events = POLLIN };

    for (int pause_ms = 1;
         _has_descendants (s) && !deadline_passed (last) && descendants_kill (s->lives.fork_server);) {
        poll (&pfd, 1, pause_ms);
        _read_signals (s);
        pause_ms = pause_ms < 500 ? 2 * pause_ms : pause_ms;
    }
}

/* False if another life must not begin. */
static bool _end_descendants (struct supervisor *s)
{
    _kill (s);
    if (_has_descendants (s))
        lives_end (&s->lives, "a process of its former run does not end");
    return lives_can_restart (&s->lives);
}

static void _end_as (struct supervisor *s, struct exit_report report, int status)
{
    /*
     * When this end is known, other tasks may begin their next life. A task that has succeeded may have
     * left something to finish in the background, and so in a step that is asked to end.
     */
    if (lives_rule_allows (&s->lives, &report) && !signals_asked (&s->signals, &report, NULL))
        _end_descendants (s);
    if (s->state == STOPPING)
        s->ended = deadline_in_ms (0);
    s->state = ENDED;
    watch_end (&s->watch);
    s->status = status;
    s->report = report;
    s->failure = (struct failure_text){ .source = FAILURE_TEXT_NONE };
    tee_flush (s->tee, OUTPUT_MS);
    /* What a task that hangs has written last are its stacks. */
    if (exit_report_failed (&report) && report.kind != EXIT_REPORT_HUNG)
        s->failure = last_line_read (s->config.log, s->config.error_file);
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
    bool killed = WIFSIGNALED (status) ? WTERMSIG (status) == SIGKILL : WEXITSTATUS (status) == 128 + SIGKILL;

    return killed && s->oom_kills >= 0 && _count_oom_kills () > s->oom_kills;
}

static struct exit_report _report (const struct supervisor *s, int status)
{
    bool signalled = WIFSIGNALED (status);

    return (struct exit_report){
        .kind = signalled                     ? EXIT_REPORT_SIGNAL
                : s->unstarted && status != 0 ? EXIT_REPORT_UNSTARTED
                                              : EXIT_REPORT_EXIT,
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
    s->stopping = deadline_in_ms (0);
    s->grace = deadline_in_ms (s->config.stop_grace * INT64_C (1000));
    if (deadline_passed (s->signals.slurm_kills))
        descendants_signal (SIGTERM, s->lives.fork_server);
    else
        s->grace = deadline_max (s->grace, s->signals.slurm_kills);
    s->state = STOPPING;
    s->stopped = true;
}

/* Python prints the stacks of all its threads at SIGABRT, also where it is blocked (PYTHONFAULTHANDLER). */
static void _abort (struct supervisor *s)
{
    if (s->state != RUNNING)
        return;
    s->grace = deadline_in_ms (s->config.stop_grace * INT64_C (1000));
    s->state = STOPPING;
    s->stopped = s->hung = true;
    descendants_signal (SIGABRT, s->lives.fork_server);
}

/*
 * The signal of which the program has died may be Slurm's to the whole step, and not have reached this
 * process yet. Then it does not ask for another life, or is killed before it can; and is not what ended
 * the job.
 */
static void _await_own_signal (struct supervisor *s)
{
    const struct exit_report report = _report (s, s->status);
    struct deadline last = deadline_in_ms (SIGNALS_MS);
    struct pollfd pfd = { .fd = s->signals.fd, .events = POLLIN };

    while (!signals_asked (&s->signals, &report, NULL) && !deadline_passed (last)) {
        poll (&pfd, 1, deadline_left_ms (last));
        _read_signals (s);
    }
}

/*
 * A program that ended before it was asked to keeps its own status. One that ended because of its last
 * chance has been stopped.
 */
static void _check_children (struct supervisor *s)
{
    static const struct exit_report hung = { .kind = EXIT_REPORT_HUNG },
                                    terminated = { .kind = EXIT_REPORT_SIGNAL, .number = SIGTERM };
    struct exit_report stopped = { .kind = EXIT_REPORT_STOPPED };
    bool left;

    _reap (s);
    if (s->state == RUNNING && !s->task) {
        if (s->status != 0 && (lives_can_restart (&s->lives) || !s->config.forward_signals))
            _await_own_signal (s);
        if (signals_explain_end (&s->signals))
            _end_as (s, stopped, 0);
        else
            _end_as (s, _report (s, s->status), s->status);
    }
    if (s->state != STOPPING)
        return;
    if ((left = _has_descendants (s)) && deadline_passed (s->grace)) {
        stopped.killed = true;
        stopped.killed_after = deadline_ago_ms (s->stopping) / 1000;
        _kill (s);
        left = false;
    }
    if (left)
        return;
    if (s->orphaned)
        _end_as (s, terminated, SIGTERM);
    else if (s->hung)
        _end_as (s, hung, W_EXITCODE (EXIT_REPORT_HUNG_CODE, 0));
    else
        _end_as (s, stopped, s->stop_status);
}

/* slurmd takes the node for idle: start nothing more, and end what runs. */
static void _check_slurmstepd (struct supervisor *s)
{
    if (s->orphaned || getppid () == s->config.slurmstepd)
        return;
    s->orphaned = true;
    lives_end (&s->lives, "its slurmstepd has died");
    if (s->state == RUNNING)
        _stop (s);
    else if (s->state == ENDED)
        _send_report (s);
}

/* Restarts. */

static int _begin_life (struct supervisor *s, int number, struct errtext *err)
{
    int oom_kills = _count_oom_kills ();
    pid_t pid = lives_begin (&s->lives, number, err);

    if (pid < 0)
        return -1;
    s->idle = false;
    s->task = pid;
    s->state = RUNNING;
    s->stopped = s->hung = s->stop_ordered = s->signals.withheld = false;
    watch_begin (&s->watch);
    s->grow_up = deadline_in_ms (YOUNG_MS);
    s->oom_kills = oom_kills;
    return 0;
}

/* Its place decides how a spare is supervised. */
static int _take_place (struct supervisor *s, const struct answer *answer, struct errtext *err)
{
    s->config.serves = answer->serves;
    s->config.watch = answer->watch;
    s->config.spare = false;
    return watch_init (&s->watch, &s->config, err);
}

static int _take_answer (struct supervisor *s, struct frame *frame, struct errtext *err)
{
    struct answer answer;

    if (!frame)
        return 0;
    if (answer_decode (&answer, frame, s->config.server_token, err) < 0
        || (s->config.spare && _take_place (s, &answer, err) < 0)) {
        lives_end (&s->lives, err->text);
        return -1;
    }
    s->config.lost_after = answer.lost_after;
    return lives_set_answer (&s->lives, frame, err);
}

/* The message is dropped if a full pipe would block. */
static void __attribute__ ((format (printf, 1, 2))) _print (const char *fmt, ...)
{
    struct pollfd pfd = { .fd = STDERR_FILENO, .events = POLLOUT };
    char text[1280];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    if (poll (&pfd, 1, 0) == 1 && write (STDERR_FILENO, text, strlen (text)) < 0)
        return;
}

static void _print_unstarted (const struct supervisor *s, const char *why)
{
    _print ("slurmstepd: error: spank_tf: step %s: rank %d on %s cannot start its program: %s\n",
            s->config.step, s->config.rank, s->config.node, why);
}

/* A task that was stopped for this life, or was spare, has failed if the life cannot begin. */
static void _set_unstarted (struct supervisor *s)
{
    if (s->report.kind != EXIT_REPORT_STOPPED)
        return;
    s->report = (struct exit_report){ .kind = EXIT_REPORT_UNSTARTED, .number = 1 };
    s->status = W_EXITCODE (1, 0);
    _print_unstarted (s, lives_report (&s->lives).cannot);
}

static void _restart (struct supervisor *s, int number, struct frame *answer)
{
    struct errtext err;
    bool asked;

    /* Slurm may have asked the task to end at this moment. */
    _read_signals (s);
    asked = signals_asked (&s->signals, &s->report, NULL);
    if (asked || !_end_descendants (s) || _take_answer (s, answer, &err) < 0
        || _begin_life (s, number, &err) < 0) {
        if (!asked)
            _set_unstarted (s);
        _send_report (s);
        return;
    }
    uplink_restarted (s->uplink);
    /* Where Slurm signals every process, it may just have missed this one. */
    _read_signals (s);
    if (!s->config.forward_signals && signals_asked (&s->signals, &s->report, NULL))
        kill (s->task, SIGTERM);
    /* SIGCHLD may have been among them. */
    _check_children (s);
}

/* A task whose TaskProlog runs has not executed its program. */
static void _check_stop (struct supervisor *s)
{
    if (!s->stop_ordered || s->state != RUNNING)
        return;
    if (_is_unstarted (s))
        s->grow_up = deadline_in_ms (YOUNG_MS);
    if (deadline_passed (s->stop_last) || deadline_passed (s->grow_up))
        _stop (s);
    else
        s->stop_due = deadline_min (s->stop_last, deadline_in_ms (LOOK_MS));
}

/*
 * A program that has ended by itself keeps its status, unless its next life was certain. If it waits,
 * what it has left in the background ends, too, because other tasks may begin their next life.
 */
static void _obey_stop (struct supervisor *s)
{
    bool waits = s->state == ENDED && uplink_is_waiting (s->uplink);

    s->stop_status = waits && !restart_rule_covers (&s->config.restart, &s->report) ? s->status : 0;
    if (s->state == RUNNING) {
        s->stop_ordered = true;
        s->stop_last = deadline_in_ms (s->config.stop_grace * INT64_C (1000));
        _check_stop (s);
    } else if (waits && _has_descendants (s))
        _stop (s);
    else if (waits)
        _end_as (s, (struct exit_report){ .kind = EXIT_REPORT_STOPPED }, s->stop_status);
}

/* The watch. */

static void _tell (struct supervisor *s)
{
    struct signs signs = watch_signs (&s->watch);

    if (s->state != RUNNING)
        return;
    signs.life = s->lives.number;
    descendants_look (&signs.stopped, &signs.busy, s->lives.fork_server);
    s->told_on = uplink_tell (s->uplink, signs_encode (&signs));
    watch_told (&s->watch, s->told_on > 0);
}

/*
 * A task that Slurm has asked to end may be saving its work, and says nothing. While one is stopped, its
 * messages are read all the same, because it may wait for that.
 */
static void _watch (struct supervisor *s)
{
    if (s->watch.rule.seconds == 0)
        return;
    if (s->signals.slurms.number || !deadline_passed (s->signals.user_ends))
        watch_asked_to_end (&s->watch);
    watch_pause (&s->watch, s->signals.suspended);
    watch_look (&s->watch, watch_awaits_program (&s->watch) && !_is_unstarted (s));
    if (s->state != RUNNING)
        return;
    if (s->told_on != uplink_connection (s->uplink))
        watch_told (&s->watch, false);
    if (watch_has_news (&s->watch))
        _tell (s);
}

/* A spare has got its place: nothing of this task may go on. What waits for its next life waits in vain. */
static void _obey_stop_at_once (struct supervisor *s)
{
    lives_end (&s->lives, "a spare has its place");
    _kill (s);
    if (s->state == ENDED) {
        s->status = 0;
        _send_report (s);
    } else
        _end_as (s, (struct exit_report){ .kind = EXIT_REPORT_STOPPED }, 0);
}

/*
 * The rendezvous may give the place of this task to a spare, and no order tells. The task fails, and if the
 * rendezvous comes back before, it is restarted like another one that has failed.
 */
static void _end_cut_off (struct supervisor *s)
{
    _kill (s);
    _check_children (s);
}

/*
 * A spare's first life has the number that its place has come to. If it cannot obey, a report that says so is
 * on its way.
 */
static void _obey_restart (struct supervisor *s, int number, struct frame *answer)
{
    if (s->state == ENDED && (number == s->lives.number + 1 || (s->idle && number > 0))
        && lives_can_restart (&s->lives) && !signals_asked (&s->signals, &s->report, NULL))
        _restart (s, number, answer);
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

static noreturn void _leave (struct supervisor *s)
{
    lives_finish (&s->lives);
    tee_finish (s->tee);
    if (WIFSIGNALED (s->status))
        _die_by (WTERMSIG (s->status));
    _exit (WEXITSTATUS (s->status));
}

/* A batch job that is cancelled loses its srun, and at the same moment Slurm asks its tasks to end. */
static bool _slurm_ends_step (struct supervisor *s)
{
    struct deadline last = deadline_in_ms (SIGNALS_MS);
    struct pollfd pfd = { .fd = s->signals.fd, .events = POLLIN };

    while (s->signals.slurms.number == 0 && !deadline_passed (last)) {
        poll (&pfd, 1, deadline_left_ms (last));
        _read_signals (s);
    }
    return s->signals.slurms.number != 0;
}

/* A message, once, and not by a task that was stopped: then the others are, too. */
static void _rendezvous_is_gone (struct supervisor *s, const char *how)
{
    bool restarts = s->config.restart.times > 0;

    if (s->gone || s->stopped)
        return;
    s->gone = true;
    signals_deliver (&s->signals, s->task);
    if (s->config.prints && !_slurm_ends_step (s))
        _print ("slurmstepd: error: spank_tf: step %s: the rendezvous %s; its tasks are not "
                "stopped when its work is done%s\n",
                s->config.step, how, restarts ? ", and not restarted" : "");
}

/*
 * Another task has failed first, and srun returns the greatest code of all. A spare that has a place, and has
 * not begun, has the code of the failure that it has got with it.
 */
static void _limit_exit_code (struct supervisor *s, int most)
{
    int code = WIFSIGNALED (s->status) ? 128 + WTERMSIG (s->status) : WEXITSTATUS (s->status);

    if (most > 0 && (code > most || s->idle))
        s->status = W_EXITCODE (most, 0);
}

/* False when the supervisor has nothing more to do with the rendezvous. */
static bool _serve_uplink (struct supervisor *s, short revents)
{
    switch (uplink_serve (s->uplink, revents)) {
        case UPLINK_NOTHING: break;
        case UPLINK_STOP: _obey_stop (s); break;
        case UPLINK_STOP_AT_ONCE: _obey_stop_at_once (s); break;
        case UPLINK_CUT_OFF: _end_cut_off (s); break;
        case UPLINK_EXIT: _limit_exit_code (s, uplink_exit_code (s->uplink)); return false;
        case UPLINK_RESTART: _obey_restart (s, uplink_life (s->uplink), uplink_answer (s->uplink)); break;
        case UPLINK_NO_ANSWER: _rendezvous_is_gone (s, "does not answer"); return false;
        case UPLINK_GONE: _rendezvous_is_gone (s, "has ended"); return s->state != ENDED;
        case UPLINK_TELL: _tell (s); break;
        case UPLINK_ABORT: _abort (s); break;
    }
    return true;
}

static void _run (struct supervisor *s)
{
    bool going_on = true;

    _check_slurmstepd (s);
    _check_children (s);
    while (going_on) {
        struct pollfd pfd[3] = { { .fd = s->signals.fd, .events = POLLIN } };
        struct deadline next = uplink_poll (s->uplink, &pfd[1]);

        next = deadline_min (next, watch_poll (&s->watch, &pfd[2]));

        if (s->state == STOPPING)
            next = deadline_min (next, s->grace);
        else if (s->state == RUNNING && s->signals.withheld)
            next = deadline_min (next, s->signals.last_chance);
        if (s->state == RUNNING && s->stop_ordered)
            next = deadline_min (next, s->stop_due);
        poll (pfd, 3, deadline_left_ms (next));
        _read_signals (s);
        _check_slurmstepd (s);
        _check_children (s);
        _check_stop (s);
        if (s->state == RUNNING)
            signals_last_chance (&s->signals, s->task);
        _watch (s);
        going_on = _serve_uplink (s, pfd[1].revents);
    }
    uplink_destroy (s->uplink);
}

/* The beginning. */

/*
 * stdin, stdout and, but for a supervisor that prints, stderr belong to the program. The signalfd
 * takes their numbers, so that a later open () cannot reuse them.
 */
static void _release_stdio (const struct supervisor *s)
{
    if (!s->config.prints)
        dup2 (s->signals.fd, STDERR_FILENO);
    dup2 (s->signals.fd, STDOUT_FILENO);
    dup2 (s->signals.fd, STDIN_FILENO);
}

static void _dump_no_core (void)
{
    struct rlimit limit;

    if (getrlimit (RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        setrlimit (RLIMIT_CORE, &limit);
    }
}

/* What is not in the configuration is not for this process. */
static void _close_others (const struct supervisor_config *c)
{
    if (!c->tee && (c->watch.seconds == 0 || !c->log))
        close (SUPERVISOR_LOG_FD);
    if (!c->tee) {
        close (SUPERVISOR_STDOUT_FD);
        close (SUPERVISOR_STDERR_FD);
    }
    if (c->watch.seconds == 0)
        close (SUPERVISOR_NOTIFY_FD);
    descriptors_close_above (SUPERVISOR_LAST_FD);
}

static int _prepare (struct supervisor *s, struct errtext *err)
{
    if (supervisor_config_decode (&s->config, environ, err) < 0)
        return -1;
    _close_others (&s->config);
    if (signals_open (&s->signals, &s->config) < 0)
        return errtext_set (err, "%s", strerror (errno));
    /* The death of slurmstepd wakes this process; nothing else does SIGCHLD. */
    prctl (PR_SET_PDEATHSIG, SIGCHLD);
    lives_init (&s->lives, &s->config, SUPERVISOR_LIVES_FD);
    if (tee_start (&s->tee, &s->config, err) < 0 || watch_init (&s->watch, &s->config, err) < 0)
        return -1;
    return (s->uplink = uplink_create (SUPERVISOR_RENDEZVOUS_FD, &s->config, err)) ? 0 : -1;
}

/* A spare is a task that has been stopped before its program started, and waits to be restarted. */
static void _begin_idle (struct supervisor *s)
{
    s->idle = true;
    _end_as (s, (struct exit_report){ .kind = EXIT_REPORT_STOPPED }, 0);
}

/* If the first life cannot begin, the task has failed. */
static void _begin_first (struct supervisor *s)
{
    struct errtext err;

    if (_begin_life (s, 0, &err) == 0)
        return;
    s->status = W_EXITCODE (1, 0);
    s->ended = deadline_in_ms (0);
    if (!lives_finish (&s->lives))
        _print_unstarted (s, err.text);
}

int main (int argc, char *argv[])
{
    struct supervisor s = { .signals.fd = -1 };
    struct errtext err;

    if (version_is_wanted (argc, argv))
        return version_print ();
    if (fcntl (SUPERVISOR_RENDEZVOUS_FD, F_GETFD) < 0 || fcntl (SUPERVISOR_LIVES_FD, F_GETFD) < 0) {
        _print ("tf-supervise is started by spank_tf, for --tf-tasks\n");
        return 1;
    }
    _dump_no_core ();
    if (_prepare (&s, &err) < 0) {
        _print ("slurmstepd: error: spank_tf: tf-supervise: %s\n", err.text);
        /* The fork server ends, too: it sees end-of-file. */
        _exit (1);
    }
    if (s.config.spare)
        _begin_idle (&s);
    else
        _begin_first (&s);
    _release_stdio (&s);
    _run (&s);
    _leave (&s);
}
