/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-supervise: the parent of a task's program, in a step where somebody may have to be
 * stopped. A rank that has its environment splits; the child becomes the program, and the
 * parent this, with
 *
 *     fd 2   the task's stderr
 *     fd 3   its connection to the rendezvous
 *
 * and as its environment what line.h needs, TASK (the program's pid), GRACE (seconds from
 * SIGTERM to SIGKILL), KILL_WAIT (the same when Slurm cancels it), FORWARD when the program
 * gets no signals but from us, SPEAKER for the one rank that speaks for all, MAY_LEAVE when the
 * rendezvous will have nothing to say at the end.
 *
 * It sleeps until the program ends, which it reports and then ends in the same way; or until
 * the rendezvous wants it stopped: it ends all its descendants, and exits with 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadline.h"
#include "descriptors.h"
#include "ending.h"
#include "errtext.h"
#include "line.h"
#include "tree.h"

#define LINE_FD 3

/* Slurm kills those whom it has cancelled; if it did not, we do. */
#define CANCEL_MORE_S 5
/* Acknowledged is acknowledged within a round trip; and looked at less and less often. */
#define LOOK_MS 1
/* A process that does not die of SIGKILL hangs in the kernel: Slurm's matter in the end. */
#define KILL_MS 30000

struct supervisor {
    enum { RUNNING, STOPPING, ENDED } state;
    struct line *line;
    int signals;
    pid_t task;
    bool forward;
    bool asked;                 /* to end, by Slurm */
    bool may_leave;             /* when our report is where it will be read */
    int look_ms;                /* the time to look again whether it is */
    int grace_ms;
    int cancel_ms;              /* what Slurm gives a task that it has asked to end, and more */
    struct deadline grace;
    bool reaped;                /* the program: its number may be somebody else's now */
    int status;                 /* what we end with */
};

/* Signals. */

/* All of them: the C library would keep two for itself. */
static void _mask (uint64_t mask)
{
    syscall (SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof (mask));
}

static int _open_signals (void)
{
    const uint64_t all = UINT64_MAX;

    /* Where it is ignored nobody learns how a child ended. */
    signal (SIGCHLD, SIG_DFL);
    _mask (all);
    return (int)syscall (SYS_signalfd4, -1, &all, sizeof (all), SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * What slurmstepd, our parent, sent to us alone. The terminal's signals reach the program by
 * themselves, and so does what anybody sends to the process group, which is ours, too.
 */
static bool _is_for_program (const struct signalfd_siginfo *info)
{
    if (info->ssi_code != SI_USER && info->ssi_code != SI_QUEUE && info->ssi_code != SI_TKILL)
        return false;
    return (pid_t)info->ssi_pid == getppid ();
}

static void _forward (const struct supervisor *s, const struct signalfd_siginfo *info)
{
    const union sigval value = { .sival_ptr = (void *)(uintptr_t)info->ssi_ptr };

    if (info->ssi_signo == SIGCHLD || !s->forward || s->reaped || !_is_for_program (info))
        return;
    if (info->ssi_code == SI_QUEUE)
        sigqueue (s->task, (int)info->ssi_signo, value);
    else
        kill (s->task, (int)info->ssi_signo);
}

static void _hear_signals (struct supervisor *s)
{
    struct signalfd_siginfo info;

    while (read (s->signals, &info, sizeof (info)) == sizeof (info)) {
        /* The program has it too, from us or as we have. */
        if (info.ssi_signo == SIGTERM && _is_for_program (&info))
            s->asked = true;
        _forward (s, &info);
    }
}

/* The end. */

/* False when we have no descendants any more. */
static bool _reap (struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid (-1, &status, WNOHANG)) > 0)
        if (pid == s->task && !s->reaped) {
            s->status = status;
            s->reaped = true;
        }
    return pid == 0;
}

static void _end_as (struct supervisor *s, struct ending ending, int status)
{
    struct ending_text room;

    s->state = ENDED;
    s->status = status;
    line_report (s->line, ending_print (&ending, &room));
    /* srun ends with the last of us: while there is something to say, not before it is said. */
    s->may_leave = status == 0 && getenv ("MAY_LEAVE");
    s->look_ms = LOOK_MS;
}

static struct ending _ending (int status)
{
    if (WIFSIGNALED (status))
        return (struct ending){ ENDING_SIGNAL, WTERMSIG (status) };
    return (struct ending){ ENDING_EXIT, WEXITSTATUS (status) };
}

/* What the program did not do at SIGTERM. Slurm ends what we may not. */
static void _kill (struct supervisor *s)
{
    struct deadline last = deadline_in_ms (KILL_MS);
    struct pollfd pfd = { .fd = s->signals, .events = POLLIN };

    for (int pause_ms = 1; _reap (s) && !deadline_passed (last) && tree_kill ();) {
        poll (&pfd, 1, pause_ms);
        _hear_signals (s);
        pause_ms = pause_ms < 500 ? 2 * pause_ms : pause_ms;
    }
}

/* A program that Slurm has asked to end is asked once, and has the time that Slurm gives it. */
static void _stop (struct supervisor *s)
{
    bool longer = s->asked && s->cancel_ms > s->grace_ms;

    if (!s->asked)
        tree_terminate ();
    s->grace = deadline_in_ms (longer ? s->cancel_ms : s->grace_ms);
    s->state = STOPPING;
}

/* Who ended by itself before it was asked to has ended so. */
static void _check_children (struct supervisor *s)
{
    bool some = _reap (s);

    if (s->state == RUNNING && !some && !s->reaped)
        s->status = 1 << 8;      /* exit 1: it was no child of ours */
    if (s->state == RUNNING && (s->reaped || !some))
        _end_as (s, _ending (s->status), s->status);
    if (s->state == STOPPING && some && deadline_passed (s->grace)) {
        _kill (s);
        some = false;
    }
    if (s->state == STOPPING && !some)
        _end_as (s, (struct ending){ .kind = ENDING_STOPPED }, 0);
}

/* A core file would be the second of one crash; a limit alone keeps no handler from it. */
static noreturn void _die_by (int number)
{
    prctl (PR_SET_DUMPABLE, 0);
    signal (number, SIG_DFL);
    kill (getpid (), number);
    _mask (~(UINT64_C (1) << (number - 1)));
    _exit (128 + number);
}

static noreturn void _leave (const struct supervisor *s)
{
    if (WIFSIGNALED (s->status))
        _die_by (WTERMSIG (s->status));
    _exit (WEXITSTATUS (s->status));
}

/* Where a full pipe would hold us up, it is not said. */
static void __attribute__ ((format (printf, 1, 2))) _say (const char *fmt, ...)
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

/* False when there is nothing more to be heard. */
static bool _hear_rendezvous (struct supervisor *s, short revents)
{
    switch (line_serve (s->line, revents)) {
        case LINE_QUIET:
            break;
        case LINE_STOP:
            if (s->state == RUNNING)
                _stop (s);
            break;
        case LINE_BYE:
            return false;
        case LINE_GONE:
            if (s->state == RUNNING)
                _say ("slurmstepd: error: spank_tf: step %s: the rendezvous has ended; its tasks "
                      "are not stopped when its work is done\n",
                      getenv ("STEP"));
            return s->state != ENDED;
    }
    return true;
}

static void _run (struct supervisor *s)
{
    bool going_on = true;

    /* It may have ended before we were there. */
    _check_children (s);
    while (going_on && !(s->may_leave && line_is_delivered (s->line))) {
        struct pollfd pfd[2] = { { .fd = s->signals, .events = POLLIN } };
        struct deadline next = line_poll (s->line, &pfd[1]);

        if (s->state == STOPPING)
            next = deadline_min (next, s->grace);
        if (s->may_leave) {
            next = deadline_min (next, deadline_in_ms (s->look_ms));
            s->look_ms = s->look_ms < 1000 ? 2 * s->look_ms : s->look_ms;
        }
        poll (pfd, 2, deadline_left_ms (next));
        _hear_signals (s);
        _check_children (s);
        going_on = _hear_rendezvous (s, pfd[1].revents);
    }
    /* Nobody told it to go: its report is delivered. */
    if (going_on)
        line_hang_up (s->line);
}

/* The beginning. */

/* A number of the environment; -1 when it has none like that. */
static int _number (const char *name, int high)
{
    const char *text = getenv (name);
    long number = text ? strtol (text, NULL, 10) : -1;

    return number >= 0 && number <= high ? (int)number : -1;
}

static int _configure (struct supervisor *s, struct errtext *err)
{
    int grace = _number ("GRACE", INT_MAX / 1000), kill_wait = _number ("KILL_WAIT", 65535);

    s->task = _number ("TASK", INT_MAX);
    if (s->task < 1 || grace < 0)
        return errtext_set (err, "it was not told its task");
    s->grace_ms = grace * 1000;
    if (kill_wait >= 0)
        s->cancel_ms = (kill_wait + CANCEL_MORE_S) * 1000;
    s->forward = getenv ("FORWARD") != NULL;
    return (s->line = line_create (LINE_FD, err)) ? 0 : -1;
}

/*
 * The task's input, output and errors are its own; any descriptor of ours keeps their numbers
 * from being another's.
 */
static void _let_go (const struct supervisor *s)
{
    if (!getenv ("SPEAKER"))
        dup2 (s->signals, STDERR_FILENO);
    dup2 (s->signals, STDOUT_FILENO);
    dup2 (s->signals, STDIN_FILENO);
}

int main (void)
{
    const struct rlimit no_core = { 0, 0 };
    struct supervisor s = { 0 };
    struct errtext err;

    if (fcntl (LINE_FD, F_GETFD) < 0 || !getenv ("TASK")) {
        _say ("tf-supervise is started by spank_tf, for --tf-tasks\n");
        return 1;
    }
    descriptors_close_above (LINE_FD);
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    setrlimit (RLIMIT_CORE, &no_core);
    s.signals = _open_signals ();
    if (s.signals < 0)
        errtext_set (&err, "%s", strerror (errno));
    if (s.signals < 0 || _configure (&s, &err) < 0) {
        _say ("slurmstepd: error: spank_tf: tf-supervise: %s\n", err.text);
        _kill (&s);
        _exit (1);
    }
    _let_go (&s);
    _run (&s);
    _leave (&s);
}
