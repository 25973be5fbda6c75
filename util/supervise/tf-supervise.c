/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-supervise: the parent of a task's program, in a step whose tasks may have to be stopped. A
 * task that has its answer forks: the child is the fork server, of which each life of the task is a
 * fork, and the parent execs this, with the descriptors that supervisor_config.h describes.
 *
 * It begins the first life, waits until the program ends, reports that to the rendezvous, and ends in the
 * same way; or until the rendezvous tells to stop the task: then it ends all its descendants and exits
 * with 0. It begins another life, and a spare's first one, only when it is told. If slurmstepd dies, it
 * ends the task and itself. In a step with spares it also ends a task that is cut off from the rendezvous
 * for so long that a spare may have its place. machine.h decides all that; this file looks, waits and does
 * it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abandoned.h"
#include "attempts.h"
#include "checks.h"
#include "common/child.h"
#include "common/deadline.h"
#include "common/descriptors.h"
#include "common/errtext.h"
#include "common/iso_time.h"
#include "common/logdir.h"
#include "common/proc.h"
#include "common/second.h"
#include "common/signal_name.h"
#include "common/version.h"
#include "connections.h"
#include "descendants.h"
#include "input.h"
#include "last_line.h"
#include "listener.h"
#include "lives.h"
#include "machine.h"
#include "node_check.h"
#include "oom_kills.h"
#include "protocol/answer.h"
#include "protocol/exit_report.h"
#include "protocol/fork_request.h"
#include "protocol/signs.h"
#include "protocol/supervisor_config.h"
#include "replaced.h"
#include "signal_fd.h"
#include "tee.h"
#include "uplink.h"
#include "watch.h"

/* So often the thread of the log looks; --tf-watchdog needs to know which log was the first to be silent. */
#define LOG_MS 2000
#define LOG_WATCHED_MS 1000
#define LOG_PARTS 20

/* An end is reported when the output before it has been passed on, but not much later. */
#define OUTPUT_MS 2000
/* A look at all processes of the node is worth its cost while those at listeners come as often as this. */
#define NETWORK_MS 8000

/* Its machine decides; this performs. */
struct supervisor {
    struct supervisor_config config;
    struct frame *config_frame;     /* its texts */
    struct machine machine;
    struct uplink *uplink;
    int signal_fd;
    int notify;                 /* the socket for heartbeats, or -1 */
    struct tee *tee;            /* or NULL */
    struct log_growth *log;     /* or NULL */
    struct failure_text traceback; /* with which the life's log ends, */
    int64_t traceback_ms;       /* since then */
    off_t stopped_at;           /* the size of the log when the program was stopped, or -1 */
    struct watch watch;
    struct listener listener;
    struct life_peers peers;
    bool environment_seen;      /* _look_at_environment () */
    struct attempts attempts;
    struct abandoned abandoned;
    struct checks checks;
    int64_t began;              /* the life */
    int64_t began_run;          /* the same, in the time for which the job was not suspended */
    int started_ms;             /* so much later a program of the task was seen to serve; 0: not yet */
    int question;               /* of the rendezvous, the last */
    bool suspended;             /* as was told last */
    bool asked;                 /* to end, as machine_asked () was then */
    pid_t task;                 /* the program; 0: it has ended */
    int oom_kills; /* before its program started; -1: not known */
    struct lives lives;
    struct input input;
    bool helpers; /* some descendants are not the task's */
    struct failure_text failure;   /* when the task has ended */
    bool left;
};

static int64_t _now (void)
{
    return deadline_in_ms (0).at_ms;
}

/* The task's processes. */

/* Until the fork server serves, its process is the task: plugins are making its container, say. */
static bool _is_prepared (const struct supervisor *s)
{
    return s->task && s->task == s->lives.fork_server;
}

static bool _is_unstarted (const struct supervisor *s)
{
    return _is_prepared (s) || proc_has_name (s->task, FORK_LIFE_NAME);
}

/* The child that belongs to no life; or 0. */
static pid_t _apart (const struct supervisor *s)
{
    return _is_prepared (s) ? 0 : s->lives.fork_server;
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
                                       : WEXITSTATUS (status) == EXIT_REPORT_SIGNAL_CODE (SIGKILL);

    return killed && s->oom_kills >= 0 && _count_oom_kills () > s->oom_kills;
}

static void _program_ended (struct supervisor *s, int status, bool unstarted)
{
    s->task = 0;
    machine_program_ended (&s->machine, _now (), status, unstarted, _is_out_of_memory (s, status));
}

/* The fork server tells the end of a life, which is its child; without it, wait () does. */
static void _reap (struct supervisor *s)
{
    struct fork_reply end;
    pid_t child;
    int status;

    while ((child = proc_next_ended ()) > 0) {
        bool is_task = child == s->task, unstarted = is_task && _is_unstarted (s);

        if (!proc_reap (child, &status))
            continue;
        if (child == s->abandoned.program)
            s->abandoned.program = 0;
        if (lives_reaped (&s->lives, child))
            machine_no_life (&s->machine, _now (),
                             is_task ? "it ended before its program could start"
                                     : "tf-fork-server, which starts it, was killed");
        if (is_task)
            _program_ended (s, status, unstarted);
    }
    while (lives_next_end (&s->lives, &end))
        if (end.pid == s->task)
            _program_ended (s, end.status, end.unstarted);
        else if (end.pid == s->checks.pid)
            checks_ended (&s->checks, end.status, _now ());
}

/*
 * The fork server waits for another life, and belongs to none. Without it and others' helpers, wait () knows
 * more than a list, in which a process that forks may be missing.
 */
static bool _has_descendants (struct supervisor *s)
{
    siginfo_t info;
    size_t count;

    _reap (s);
    if (!s->lives.fork_server && !s->helpers)
        return waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (s->task)
        return true;
    free (descendants_list (&count, _apart (s)));
    return count > 0;
}

static bool _has_sigterm (pid_t pid, const char *set)
{
    return proc_signals (pid, set) & UINT64_C (1) << (SIGTERM - 1);
}

static enum signals_reaction _reaction (pid_t pid)
{
    if (_has_sigterm (pid, "SigCgt"))
        return SIGNALS_HANDLE;
    return _has_sigterm (pid, "SigBlk") ? SIGNALS_BLOCK : SIGNALS_DIE;
}

/* Effects. */

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

static void _say_unstarted (struct supervisor *s)
{
    _print ("slurmstepd: error: spank_tf: step %s: rank %d on %s cannot start its program: %s\n",
            s->config.step, s->config.rank, s->config.node, s->machine.cannot);
}

static void _print_alone (const struct supervisor *s)
{
    _print ("slurmstepd: error: spank_tf: step %s: tf-rendezvous does not answer. Its tasks will not be "
            "stopped when training has finished%s\n",
            s->config.step, s->config.restart.times > 0 ? ", or restarted" : "");
}

/*
 * stdin, stdout and, but for a supervisor that prints, stderr belong to the program. The signalfd
 * takes their numbers, so that a later open () cannot reuse them.
 */
static void _release_stdio (const struct supervisor *s)
{
    if (!s->config.prints)
        dup2 (s->signal_fd, STDERR_FILENO);
    dup2 (s->signal_fd, STDOUT_FILENO);
    dup2 (s->signal_fd, STDIN_FILENO);
}

/*
 * What its processes do tells which task hangs, and is seen anew each time: a verdict is about the last that
 * was told, which may be news just after the answer to a question. It takes a look at all of /proc, so a
 * task that moves is spared it. No task may be silent for less than SECONDS.
 */
static bool _may_hang (const struct supervisor *s, const struct status *status)
{
    int seconds = s->watch.rule.seconds;

    return !status->ended && (seconds > 0 || s->question > 0)
           && !signs_move (&status->signs, seconds * SECOND_MS);
}

/* All that there is to tell. Without a connection the next one begins with that. */
static void _tell (struct supervisor *s)
{
    struct status status = { .ended = s->machine.reported,
                             .report = s->machine.report,
                             .life = machine_life (&s->machine, _now ()),
                             .failure = s->failure,
                             .signs = watch_signs (&s->watch) };
    struct signs *signs = &status.signs;

    if (!status.ended)
        status.life.asked_signal = machine_asked (&s->machine, &status.life.asked_at);
    status.life.address = s->listener.use;
    status.life.peers = s->peers;
    signs->life = s->machine.number;
    status.check = s->checks.report;
    signs->suspended = s->suspended = machine_is_suspended (&s->machine, _now ());
    signs->started_ms = s->started_ms;
    signs->traceback_lost = s->traceback.cause.kind == CAUSE_CONNECTION;
    if (s->traceback.source != FAILURE_TEXT_NONE) {
        strcpy (signs->traceback, s->traceback.text);
        signs->traceback_ms = (int)(_now () - s->traceback_ms);
    }
    signs->unanswered_count = attempts_unanswered (&s->attempts, signs->unanswered);
    if (_may_hang (s, &status))
        descendants_look (&signs->stopped, &signs->busy, _apart (s));
    uplink_tell (s->uplink, &status);
    watch_told (&s->watch);
    if (signs->unanswered_count > 0)
        s->attempts.due = deadline_never (); /* that is enough for this life */
}

static void _tell_aside (const struct supervisor *s)
{
    struct status status = { .signs = watch_signs (&s->watch) };

    status.signs.life = s->machine.number;
    status.signs.aside = true;
    uplink_tell (s->uplink, &status);
}

/* What a program prints that was asked to end does not say why it fails. */
static bool _was_asked (const struct supervisor *s)
{
    const struct signals *signals = &s->machine.signals;

    return signals->slurms.number || _now () < signals->user_ends;
}

/*
 * The exception with which its log ends now, and since when; also of what the rendezvous has stopped, if it
 * was printed before.
 */
static void _read_last_words (struct supervisor *s)
{
    struct last_words words = last_line_read (&s->machine.report, s->config.log, s->config.error_file);
    int64_t begun = log_growth_begun (s->log, words.traceback);

    s->failure = words.text;
    if (_was_asked (s) || (s->stopped_at >= 0 && words.traceback >= s->stopped_at))
        return;
    s->traceback = words.exception;
    s->traceback_ms = begun > s->began ? begun : s->began;
}

static void _finish_life (struct supervisor *s)
{
    const struct exit_report *report = &s->machine.report;

    watch_end (&s->watch);
    _release_stdio (s); /* if its program has not started */
    s->failure = (struct failure_text){ .source = FAILURE_TEXT_NONE };
    tee_flush (s->tee, OUTPUT_MS);
    if (exit_report_failed (report) || report->kind == EXIT_REPORT_STOPPED)
        _read_last_words (s);
}

/* Its place decides how a spare is supervised. */
static void _take_place (struct supervisor *s, const struct answer *answer)
{
    s->config.serves = answer->serves;
    s->config.watch = answer->watch;
    s->config.spare = false;
    watch_init (&s->watch, &s->config, s->notify, s->log);
}

/* The answer that came with the goal of this life, if there is one. */
static int _take_answer (struct supervisor *s, struct frame *frame, struct errtext *err)
{
    struct answer answer;

    if (!frame)
        return 0;
    if (answer_decode (&answer, frame, s->config.server_token, err) < 0)
        return -1;
    if (s->config.spare)
        _take_place (s, &answer);
    s->config.lost_after = answer.lost_after;
    return lives_set_answer (&s->lives, frame, err);
}

static int _begin_program (struct supervisor *s, int number, struct errtext *err)
{
    int oom_kills = _count_oom_kills ();
    pid_t pid;
    int input;

    watch_discard (&s->watch);
    if (input_begin (&s->input, &input, err) < 0)
        return -1;
    pid = lives_begin (&s->lives, number, input, err);
    if (input >= 0)
        close (input);
    if (pid < 0)
        return -1;
    s->task = pid;
    s->oom_kills = oom_kills;
    s->began = _now ();
    s->began_run = s->machine.run;
    s->traceback.source = FAILURE_TEXT_NONE;
    s->stopped_at = -1;
    watch_begin (&s->watch);
    listener_begin (&s->listener);
    attempts_begin (&s->attempts);
    return 0;
}

static void _begin_life (struct supervisor *s, int number)
{
    bool further = s->machine.number >= 0 || s->machine.idle;
    bool prepared = s->lives.fork_server && !s->lives.serves;
    struct frame *answer = NULL;
    bool fails;
    struct errtext err;

    /* One that has not told its result in time, and whose node is used all the same. */
    if (s->checks.pid || s->checks.ends)
        descendants_kill (_apart (s));
    checks_cancel (&s->checks);
    if (further) {
        answer = s->uplink->answer;
        s->uplink->answer = NULL;
    }
    fails = _take_answer (s, answer, &err) < 0 || (!prepared && _begin_program (s, number, &err) < 0);
    frame_destroy (answer);
    if (fails) {
        machine_cannot_begin (&s->machine, _now (), err.text);
        return;
    }
    if (prepared)
        s->task = s->lives.fork_server;
    machine_begun (&s->machine, _now ());
    if (further)
        uplink_restarted (s->uplink);
}

/* The fork server is needed no more, unless the present life is still to come from it. */
static void _end_lives (struct supervisor *s)
{
    if (!_is_prepared (s))
        lives_end (&s->lives);
}

/* Send it on, as it came. */
static void _forward (const struct signal *signal, pid_t pid)
{
    if (signal->queued)
        sigqueue (pid, signal->number, (union sigval){ .sival_ptr = signal->value });
    else
        kill (pid, signal->number);
}

static void _perform (struct supervisor *s, const struct effect *effect)
{
    switch (effect->kind) {
        case EFFECT_BEGIN: _begin_life (s, effect->number); break;
        case EFFECT_SIGNAL:
            if (s->task)
                _forward (&effect->signal, s->task);
            break;
        case EFFECT_SIGNAL_ALL:
            s->stopped_at = log_growth_size (s->log);
            descendants_signal (effect->number, _apart (s));
            break;
        case EFFECT_KILL:
            if (!descendants_kill (_apart (s)))
                machine_cannot_kill (&s->machine, _now ());
            break;
        case EFFECT_NO_LIFE: _end_lives (s); break;
        case EFFECT_FINISH: _finish_life (s); break;
        case EFFECT_REPORT: _tell (s); break;
        case EFFECT_SAY_UNSTARTED: _say_unstarted (s); break;
        case EFFECT_SAY_ALONE: _print_alone (s); break;
        case EFFECT_LEAVE: s->left = true; break;
    }
}

static void _perform_all (struct supervisor *s)
{
    struct effect effect;

    while (machine_effect (&s->machine, &effect))
        _perform (s, &effect);
}

/* What happens. */

/* What runs before the first life is of a plugin, which stands between our two, and not the task's. */
static void _serve_lives (struct supervisor *s)
{
    struct errtext err;

    if (!lives_serve (&s->lives))
        return;
    s->helpers = descendants_leave_out (s->lives.fork_server);
    if (_is_prepared (s) && _begin_program (s, s->machine.number, &err) < 0) {
        s->task = 0;
        machine_cannot_begin (&s->machine, _now (), err.text);
    } else if (*s->machine.cannot)
        _end_lives (s);
    /* What is said of a life that cannot begin goes to the task's stderr. */
    _perform_all (s);
    _release_stdio (s);
}

/* By a child, because the file system may hang. */
static void _log_asked (const struct supervisor *s, int number, int64_t asked_at)
{
    char signal[32], at[ISO_TIME_SIZE];

    if (!s->config.log)
        return;
    signal_name (number, signal, sizeof (signal));
    iso_time ((time_t)asked_at, at);
    if (child_fork ("tf-last-line", (int[]){ -1, SUPERVISOR_LOG_FD, -1 }, 3) == 0) {
        logdir_ask_to_end (STDOUT_FILENO, s->config.step, signal, at, s->watch.step);
        _exit (0);
    }
}

/*
 * At once, because SIGKILL may follow, and srun may end: then this is all that is told of the end. What has
 * ended tells it in its report. A program that has survived Ctrl-C, say, is asked no more.
 */
static void _tell_asked (struct supervisor *s)
{
    int64_t at;
    int number = machine_asked (&s->machine, &at);

    if (!number != !s->asked && !s->machine.reported) {
        _tell (s);
        /* The rendezvous' wish came now. */
        if (number)
            _log_asked (s, number, at ? at : time (NULL));
    }
    s->asked = number;
}

static void _read_signals (struct supervisor *s)
{
    struct signal signal;

    while (signal_fd_read (s->signal_fd, &signal)) {
        machine_signal (&s->machine, _now (), &signal);
        _tell_asked (s);
        _perform_all (s);
    }
}

static void _look (struct supervisor *s)
{
    int asks = machine_asks (&s->machine, _now ());
    struct sight sight = {
        .left = asks & MACHINE_ASKS_LEFT && _has_descendants (s),
        /* What is not there yet, for want of a container, has nothing to print before it is stopped. */
        .unstarted = asks & MACHINE_ASKS_UNSTARTED && !_is_prepared (s) && _is_unstarted (s),
        .reaction = asks & MACHINE_ASKS_REACTION ? _reaction (s->task) : SIGNALS_DIE,
    };

    machine_look (&s->machine, _now (), &sight);
    _perform_all (s);
}

/* The graces of a job stand still while it is suspended. A task that waits for its restart says so, too. */
static void _tell_suspension (struct supervisor *s)
{
    bool suspended = machine_is_suspended (&s->machine, _now ());

    if (suspended != s->suspended)
        _tell (s);
}

/*
 * A task that was asked to end, by Slurm or by the rendezvous, may be saving its work, and says nothing.
 * While one is stopped, its messages are read all the same, because it may wait for that.
 */
static void _watch (struct supervisor *s)
{
    const struct signals *signals = &s->machine.signals;

    if (s->watch.rule.seconds == 0)
        return;
    s->watch.paused = signals->suspended;
    watch_look (&s->watch, s->watch.lives && !s->watch.runs && !_is_unstarted (s));
    /* What it does meanwhile does not count. */
    if (_was_asked (s) || s->machine.stopped)
        s->watch.asked = true;
    if (s->machine.phase != MACHINE_RUNS)
        return;
    if (watch_has_news (&s->watch))
        _tell (s);
    else if (watch_tells_aside (&s->watch))
        _tell_aside (s);
}

/* What a former life has printed does not count. */
static void _look_for_traceback (struct supervisor *s)
{
    bool had = s->traceback.source != FAILURE_TEXT_NONE;
    struct failure_text text;
    int64_t since = log_growth_traceback (s->log, &text);

    if (s->machine.phase != MACHINE_RUNS || _was_asked (s))
        return;
    if (since < s->began)
        text.source = FAILURE_TEXT_NONE;
    s->traceback = text;
    s->traceback_ms = since;
    if (had || text.source != FAILURE_TEXT_NONE)
        _tell (s);
}

/* In a container with a network of its own the kernel's answer here says nothing. */
static void _check_network (struct supervisor *s)
{
    enum network network = descendants_network (_apart (s));

    if (network != NETWORK_SHARED)
        listener_hide (&s->listener);
    /* The same is true of the other tasks, most likely. */
    if (network == NETWORK_OTHER && s->config.prints && s->config.has_peers)
        _print (
            "slurmstepd: spank_tf: step %s: a process of rank %d on %s has a network of its own: if it is "
            "the program, other tasks cannot reach it. Let its container use the node's network\n",
            s->config.step, s->config.rank, s->config.node);
}

/* Once; the other tasks most likely have the same TaskProlog. */
static void _look_at_environment (struct supervisor *s)
{
    char names[320];

    if (!s->config.prints || s->environment_seen || _is_unstarted (s))
        return;
    s->environment_seen = true;
    if (replaced_names (s->task, names, sizeof (names)))
        _print ("slurmstepd: spank_tf: step %s: %s: TaskProlog, or the command itself, replaced the "
                "step's values\n",
                s->config.step, names);
}

/* A program that does not use its address may have found the others by another one. */
static void _look_for_listener (struct supervisor *s)
{
    if (s->machine.phase != MACHINE_RUNS || !deadline_passed (s->listener.due))
        return;
    _look_at_environment (s);
    listener_look (&s->listener);
    if (s->listener.use == ADDRESS_USED) {
        s->started_ms = (int)(s->machine.run - s->began_run);
        _tell (s);
    }
    if (s->listener.use == ADDRESS_UNUSED && s->listener.pause_ms < NETWORK_MS)
        _check_network (s);
    if (s->listener.use == ADDRESS_UNUSED)
        connections_look (&s->peers, _apart (s));
    /* These lists are longer than what stays in memory. */
    malloc_trim (0);
}

static void _look_at_attempts (struct supervisor *s)
{
    if (s->machine.phase != MACHINE_RUNS || !attempts_look (&s->attempts))
        return;
    _tell (s);
}

/* Before a life. What a check has started does not outlive it. */
static void _look_at_check (struct supervisor *s)
{
    struct checks *c = &s->checks;
    bool left;

    checks_read (c);
    if (checks_kill (c, machine_is_suspended (&s->machine, _now ()), _now ())) {
        /* A look at all of /proc takes a while on a node with many processes. */
        if ((left = !c->clean && _has_descendants (s)))
            descendants_kill (_apart (s));
        if (checks_finish (c, left, _now ()))
            _tell (s);
    }
    if (s->machine.phase == MACHINE_ENDED && s->lives.serves)
        checks_begin (c, &s->lives, _now ());
}

static void _serve_uplink (struct supervisor *s, short revents)
{
    const struct goal *goal = &s->uplink->goal;
    enum uplink_event event = uplink_serve (s->uplink, revents);

    bool asked;

    if (event == UPLINK_CONNECTED)
        _tell (s);
    if (event != UPLINK_GOAL)
        return;
    asked = goal->question > s->question;
    s->question = goal->question;
    if (asked && s->machine.phase == MACHINE_RUNS)
        _tell (s);
    /* Slurm may have asked the task to end at this moment. */
    _read_signals (s);
    checks_take (&s->checks, &goal->check);
    machine_goal (&s->machine, _now (), goal);
    _tell_asked (s);
}

static void _see_link (struct supervisor *s)
{
    struct link link = uplink_link (s->uplink);

    machine_link (&s->machine, _now (), &link);
    _perform_all (s);
}

/* It has failed, or was stopped. A spare may never begin, nor may what has ended with 0. */
static bool _waits_for_life (const struct supervisor *s)
{
    const struct exit_report *report = &s->machine.report;

    return s->machine.phase == MACHINE_ENDED && !s->machine.idle
           && (exit_report_failed (report) || report->kind == EXIT_REPORT_STOPPED);
}

static void _serve_input (struct supervisor *s, const struct pollfd pfd[2])
{
    if (!input_serve (&s->input, pfd))
        machine_no_life (&s->machine, _now (),
                         "more than " INPUT_MOST_TEXT " arrived on its stdin, which is all that is kept for "
                         "another run");
}

static void _wait (struct supervisor *s, struct pollfd pfd[8])
{
    struct deadline next = { .at_ms = machine_due (&s->machine) };
    bool listens = machine_listens (&s->machine);

    pfd[0] = (struct pollfd){ .fd = s->signal_fd, .events = POLLIN };
    pfd[1] = (struct pollfd){ .fd = -1 };
    if (listens)
        next = deadline_min (next, uplink_poll (s->uplink, &pfd[1]));
    next = deadline_min (next, watch_poll (&s->watch, &pfd[2]));
    next = deadline_min (next, (struct deadline){ .at_ms = s->abandoned.due });
    pfd[3] = (struct pollfd){ .fd = s->lives.fork_server ? s->lives.requests : -1, .events = POLLIN };
    pfd[4] = (struct pollfd){ .fd = log_growth_fd (s->log), .events = POLLIN };
    if (s->machine.phase == MACHINE_RUNS)
        next = deadline_min (next, deadline_min (s->listener.due, s->attempts.due));
    input_poll (&s->input, _waits_for_life (s), &pfd[5]);
    pfd[7] = (struct pollfd){ .fd = s->checks.ends ? -1 : s->checks.output, .events = POLLIN };
    next = deadline_min (next, (struct deadline){ .at_ms = s->checks.due });
    poll (pfd, 8, deadline_left_ms (next));
}

static void _run (struct supervisor *s)
{
    struct pollfd pfd[8] = { { .fd = -1 } };

    while (!s->left) {
        /* Before another life gets a pipe, of which nothing is known yet. */
        _serve_input (s, &pfd[5]);
        _read_signals (s);
        if (getppid () != s->config.slurmstepd)
            machine_slurmstepd_died (&s->machine, _now ());
        _reap (s);
        _perform_all (s);
        _serve_lives (s);
        _see_link (s);
        _look (s);
        _watch (s);
        _tell_suspension (s);
        _tell_asked (s);
        _look_for_listener (s);
        _look_at_attempts (s);
        if (pfd[4].revents)
            _look_for_traceback (s);
        if (abandoned_asks (&s->abandoned, machine_lost_since (&s->machine), _now ()))
            abandoned_start (&s->abandoned);
        if (machine_listens (&s->machine) && !s->left)
            _serve_uplink (s, pfd[1].revents);
        _perform_all (s);
        _look_at_check (s);
        if (!s->left)
            _wait (s, pfd);
    }
    uplink_destroy (s->uplink);
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
    _exit (EXIT_REPORT_SIGNAL_CODE (number));
}

static noreturn void _leave (struct supervisor *s)
{
    if (s->checks.pid || s->checks.ends)
        descendants_kill (_apart (s));
    lives_finish (&s->lives);
    abandoned_finish (&s->abandoned);
    tee_finish (s->tee);
    if (WIFSIGNALED (s->machine.status))
        _die_by (WTERMSIG (s->machine.status));
    _exit (WEXITSTATUS (s->machine.status));
}

/* The beginning. */

static void _dump_no_core (void)
{
    struct rlimit limit;

    if (getrlimit (RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        setrlimit (RLIMIT_CORE, &limit);
    }
}

static int _start_log (struct supervisor *s, struct errtext *err)
{
    int seconds = s->config.watch.seconds, watched = seconds * (1000 / LOG_PARTS);

    if (!s->config.log)
        return 0;
    return log_growth_start (&s->log, SUPERVISOR_LOG_FD,
                             seconds == 0               ? LOG_MS
                             : watched < LOG_WATCHED_MS ? watched
                                                        : LOG_WATCHED_MS,
                             err);
}

static int _prepare (struct supervisor *s, struct errtext *err)
{
    if (!(s->config_frame = frame_load (SUPERVISOR_CONFIG_FD)))
        return errtext_set (err, "it has not got its configuration");
    close (SUPERVISOR_CONFIG_FD);
    if (fields_decode (&supervisor_config_fields, &s->config, s->config_frame, err) < 0)
        return -1;
    /* Before this process opens anything, which may get the number of what it was not passed. */
    s->notify = fcntl (SUPERVISOR_NOTIFY_FD, F_GETFD) < 0 ? -1 : SUPERVISOR_NOTIFY_FD;
    descriptors_close_above (SUPERVISOR_LAST_FD);
    if ((s->signal_fd = signal_fd_open ()) < 0)
        return errtext_set (err, "%s", strerror (errno));
    /* The death of slurmstepd wakes this process; nothing else does SIGCHLD. */
    prctl (PR_SET_PDEATHSIG, SIGCHLD);
    s->listener = (struct listener){ .port = { s->config.task_port, s->config.master_port } };
    s->listener.due = s->attempts.due = deadline_never ();
    abandoned_init (&s->abandoned, &s->config);
    checks_init (&s->checks, s->config.options.preflight);
    s->lives =
        (struct lives){ .fork_server = s->config.fork_server, .requests = SUPERVISOR_LIVES_FD, .answer = -1 };
    input_init (&s->input, &s->config);
    if (tee_start (&s->tee, &s->config, err) < 0 || _start_log (s, err) < 0)
        return -1;
    watch_init (&s->watch, &s->config, s->notify, s->log);
    return (s->uplink = uplink_create (SUPERVISOR_RENDEZVOUS_FD, &s->config, err)) ? 0 : -1;
}

int main (int argc, char *argv[])
{
    static struct supervisor s; /* a page of it that is not used takes no memory */
    struct errtext err;

    if (version_is_wanted (argc, argv))
        return version_print ();
    if (argc > 1 && strcmp (argv[1], CHECK_ARGUMENT) == 0)
        return node_check_main (argc, argv);
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
    machine_start (&s.machine, &s.config, _now ());
    _perform_all (&s);
    _run (&s);
    _leave (&s);
}
