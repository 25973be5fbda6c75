/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "signals.h"

#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "proc.h"
#include "protocol/restart_rule.h"

/* Slurm sends SIGKILL KillWait after its SIGTERM. If it does not, the supervisor sends it then. */
#define KILL_WAIT_MORE_S 5
/*
 * A task that only serves gets Slurm's SIGTERM so long before the SIGKILL, if it has not got it
 * before, but not in the first half of KillWait.
 */
#define LAST_CHANCE_S 5
/*
 * The C library, and shells, block every signal for a moment when they start a process or a thread. A
 * program that blocks SIGTERM in all of these looks reads it.
 */
#define LOOKS 20
#define LOOK_MS 25

int signals_open (struct signals *s, const struct supervisor_config *config)
{
    sigset_t all;

    sigfillset (&all);
    /* While it is ignored, wait () does not learn how a child ended. */
    signal (SIGCHLD, SIG_DFL);
    sigprocmask (SIG_SETMASK, &all, NULL);
    *s = (struct signals){ .config = config, .fd = signalfd (-1, &all, SFD_CLOEXEC | SFD_NONBLOCK) };
    return s->fd < 0 ? -1 : 0;
}

/* How long Slurm waits from its SIGTERM to its SIGKILL, as far as that is known. */
static int64_t _slurms_grace_ms (const struct signals *s)
{
    int seconds = s->config->kill_wait < 0 ? s->config->stop_grace : s->config->kill_wait + KILL_WAIT_MORE_S;

    return seconds * INT64_C (1000);
}

/*
 * Did slurmstepd, the parent, send this signal? The terminal's signals, and those to the process
 * group, reach the program too, because it is in the same group.
 */
static bool _is_from_slurm (const struct signalfd_siginfo *info)
{
    if (info->ssi_code != SI_USER && info->ssi_code != SI_QUEUE && info->ssi_code != SI_TKILL)
        return false;
    return (pid_t)info->ssi_pid == getppid ();
}

static void _forward (const struct signals *s, const struct signalfd_siginfo *info, pid_t task)
{
    const union sigval value = { .sival_ptr = (void *)(uintptr_t)info->ssi_ptr };

    if (info->ssi_signo == SIGCHLD || !s->config->forward_signals || !task || !_is_from_slurm (info))
        return;
    if (info->ssi_code == SI_QUEUE)
        sigqueue (task, (int)info->ssi_signo, value);
    else
        kill (task, (int)info->ssi_signo);
}

/* If Slurm signals every process itself, nothing can be withheld. */
static bool _can_withhold (const struct signals *s)
{
    return s->config->serves && s->config->forward_signals;
}

static void _withhold (struct signals *s)
{
    int wait = s->config->kill_wait;
    int more = wait < 2 * LAST_CHANCE_S ? wait / 2 : LAST_CHANCE_S;

    s->withheld = true;
    s->looks = 0;
    s->kill_due = deadline_in_ms (_slurms_grace_ms (s));
    s->last_chance = wait < 0 ? deadline_never () : deadline_in_ms ((wait - more) * INT64_C (1000));
}

/*
 * By Slurm, or by the user at the terminal. All tasks of a step on a node share one process group,
 * so a program that signals its own group, as with `trap 'kill 0' EXIT`, reaches supervisors too.
 */
static bool _asks_to_end (const struct signalfd_siginfo *info)
{
    bool ends = info->ssi_signo == SIGTERM || info->ssi_signo == SIGINT || info->ssi_signo == SIGQUIT
                || info->ssi_signo == SIGHUP;

    return ends && (info->ssi_code == SI_KERNEL || _is_from_slurm (info));
}

/*
 * scancel -s and --signal= can send any signal; these mean something else. Slurm suspends a job by
 * SIGTSTP, resumes it by SIGCONT, which comes before its other signals, too, and tells a changed size
 * of the terminal by SIGWINCH.
 */
static bool _may_warn (const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    return number != SIGCHLD && number != SIGCONT && number != SIGTSTP && number != SIGTTIN
           && number != SIGTTOU && number != SIGWINCH && _is_from_slurm (info);
}

bool signals_read (struct signals *s, pid_t task, bool needed)
{
    struct signalfd_siginfo info;
    bool changed = false;

    while (read (s->fd, &info, sizeof (info)) == sizeof (info)) {
        const struct signals_wish wish = { .number = (int)info.ssi_signo, .at = time (NULL) };
        bool slurms_sigterm = info.ssi_signo == SIGTERM && _is_from_slurm (&info);

        if (slurms_sigterm && s->slurms.number == 0)
            s->slurms = wish;
        if ((info.ssi_signo == SIGTSTP || info.ssi_signo == SIGCONT) && _is_from_slurm (&info))
            s->suspended = info.ssi_signo == SIGTSTP;
        if (_asks_to_end (&info)) {
            s->users = wish;
            s->user_ends = deadline_in_ms (_slurms_grace_ms (s));
        }
        if (_may_warn (&info))
            s->warning = wish;
        changed = changed || _asks_to_end (&info) || _may_warn (&info);
        if (slurms_sigterm && needed && _can_withhold (s)) {
            _withhold (s);
            continue;
        }
        /* The program gets it too: from Slurm, or forwarded. */
        if (slurms_sigterm)
            s->slurm_kills = deadline_in_ms (_slurms_grace_ms (s));
        _forward (s, &info, task);
    }
    return changed;
}

/*
 * Slurm's SIGTERM may be a warning of a later end (--signal=TERM@600, GraceTime); a task that had it
 * is never restarted. A program that survives Ctrl-C goes on. The user may have chosen any other
 * signal for the warning (--signal=USR1@600): then a task whose code says that its work is saved has
 * ended because of it. Other ends do not tell, so they are what they would be without the signal.
 */
int signals_asked (const struct signals *s, const struct exit_report *report, int64_t *at)
{
    static const struct signals_wish none = { 0 };
    const struct signals_wish *wish = s->slurms.number                  ? &s->slurms
                                      : !deadline_passed (s->user_ends) ? &s->users
                                      : restart_rule_saved (report)     ? &s->warning
                                                                        : &none;

    if (at)
        *at = wish->at;
    return wish->number;
}

static bool _has_sigterm (pid_t pid, const char *set)
{
    return proc_signals (pid, set) & UINT64_C (1) << (SIGTERM - 1);
}

/* By a handler, or by reading it while it is blocked. */
static bool _handles_sigterm (struct signals *s, pid_t task)
{
    if (_has_sigterm (task, "SigCgt"))
        return true;
    if (!_has_sigterm (task, "SigBlk"))
        return false;
    if (++s->looks == LOOKS)
        return true;
    s->last_chance = deadline_in_ms (LOOK_MS);
    return false;
}

/*
 * If Slurm is about to end the step, the program can still clean up. Its SIGTERM may as well have been
 * a warning of something later than KillWait, as with --signal=TERM@600 or a partition's GraceTime:
 * so a program to which SIGTERM could only mean its death does not get it, and one that goes on after
 * it has more time than this: Slurm's SIGKILL comes, or it does not.
 */
void signals_last_chance (struct signals *s, pid_t task)
{
    if (!s->withheld || !deadline_passed (s->last_chance))
        return;
    s->last_chance = deadline_never ();
    if (_handles_sigterm (s, task)) {
        s->chance_ends = s->kill_due;
        signals_deliver (s, task);
    }
}

bool signals_explain_end (const struct signals *s)
{
    return !deadline_passed (s->chance_ends);
}

void signals_deliver (struct signals *s, pid_t task)
{
    if (s->withheld && task)
        kill (task, SIGTERM);
    if (s->withheld)
        s->slurm_kills = s->kill_due;
    s->withheld = false;
}
