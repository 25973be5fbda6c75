/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "signals.h"

#include <signal.h>

#include "common/second.h"
#include "protocol/restart_rule.h"

/* Slurm sends SIGKILL KillWait after its SIGTERM. If it does not, the supervisor sends it then. */
#define KILL_WAIT_MORE_S 5
/*
 * A task that only serves gets Slurm's SIGTERM at the latest this many seconds before the SIGKILL, but not in
 * the first half of KillWait.
 */
#define LAST_CHANCE_S 5
/*
 * The C library, and shells, block every signal for a moment when they start a process or a thread. A
 * program that blocks SIGTERM in all of these looks reads it.
 */
#define LOOKS 20
#define LOOK_MS 25

/* How long Slurm waits from its SIGTERM to its SIGKILL, as far as that is known. */
static int64_t _slurms_grace_ms (const struct signals *s)
{
    int seconds = s->config->kill_wait < 0 ? s->config->stop_grace : s->config->kill_wait + KILL_WAIT_MORE_S;

    return seconds * SECOND_MS;
}

/* If Slurm signals every process itself, nothing can be withheld. */
static bool _can_withhold (const struct signals *s)
{
    return s->config->serves && s->config->forward_signals;
}

static void _withhold (struct signals *s, int64_t now)
{
    int wait = s->config->kill_wait;
    int more = wait < 2 * LAST_CHANCE_S ? wait / 2 : LAST_CHANCE_S;

    s->withheld = true;
    s->looks = 0;
    s->kill_due = now + _slurms_grace_ms (s);
    s->last_chance = wait < 0 ? INT64_MAX : now + (wait - more) * SECOND_MS;
}

/*
 * By Slurm, or by the user at the terminal. All tasks of a step on a node share one process group,
 * so a program that signals its own group, as with `trap 'kill 0' EXIT`, reaches supervisors too.
 */
static bool _asks_to_end (const struct signal *signal)
{
    bool ends = signal->number == SIGTERM || signal->number == SIGINT || signal->number == SIGQUIT
                || signal->number == SIGHUP;

    return ends && (signal->from_terminal || signal->from_slurm);
}

/*
 * scancel -s and --signal= can send any signal; these mean something else. Slurm suspends a job by
 * SIGTSTP, resumes it by SIGCONT, which comes before its other signals, too, and tells a changed size
 * of the terminal by SIGWINCH.
 */
static bool _may_warn (const struct signal *signal)
{
    int number = signal->number;

    return number != SIGCHLD && number != SIGCONT && number != SIGTSTP && number != SIGTTIN
           && number != SIGTTOU && number != SIGWINCH && signal->from_slurm;
}

bool signals_may_ask (const struct signal *signal)
{
    return _asks_to_end (signal) || _may_warn (signal);
}

bool signals_take (struct signals *s, const struct signal *signal, bool needed, int64_t now)
{
    const struct signals_wish wish = { .number = signal->number, .at = signal->at };
    bool slurms_sigterm = signal->number == SIGTERM && signal->from_slurm;

    if (slurms_sigterm && s->slurms.number == 0)
        s->slurms = wish;
    if ((signal->number == SIGTSTP || signal->number == SIGCONT) && signal->from_slurm)
        s->suspended = signal->number == SIGTSTP;
    if (_asks_to_end (signal)) {
        s->users = wish;
        s->user_ends = now + _slurms_grace_ms (s);
    }
    if (_may_warn (signal))
        s->warning = wish;
    if (slurms_sigterm && needed && _can_withhold (s)) {
        _withhold (s, now);
        return false;
    }
    /* The program gets it too: from Slurm, or forwarded. */
    if (slurms_sigterm)
        s->slurm_kills = now + _slurms_grace_ms (s);
    return signal->number != SIGCHLD && s->config->forward_signals && signal->from_slurm;
}

/*
 * Slurm's SIGTERM may be a warning of a later end (--signal=TERM@600, GraceTime); a task that had it
 * is never restarted. A program that survives Ctrl-C goes on. The user may have chosen any other
 * signal for the warning (--signal=USR1@600): then a task whose code says that its work is saved has
 * ended because of it. Other ends do not tell, so they are what they would be without the signal.
 */
int signals_asked (const struct signals *s, const struct exit_report *report, int64_t now, int64_t *at)
{
    static const struct signals_wish none = { 0 };
    const struct signals_wish *wish = s->slurms.number              ? &s->slurms
                                      : now < s->user_ends          ? &s->users
                                      : restart_rule_saved (report) ? &s->warning
                                                                    : &none;

    if (at)
        *at = wish->at;
    return wish->number;
}

/* By a handler, or by reading it while it is blocked. */
static bool _is_handled (struct signals *s, enum signals_reaction reaction, int64_t now)
{
    if (reaction != SIGNALS_BLOCK)
        return reaction == SIGNALS_HANDLE;
    if (++s->looks == LOOKS)
        return true;
    s->last_chance = now + LOOK_MS;
    return false;
}

/*
 * If Slurm is about to end the step, the program can still clean up. Its SIGTERM may as well have been
 * a warning of something later than KillWait, as with --signal=TERM@600 or a partition's GraceTime:
 * so a program to which SIGTERM could only mean its death does not get it, and one that goes on after
 * it has more time than this: Slurm's SIGKILL comes, or it does not.
 */
bool signals_last_chance (struct signals *s, enum signals_reaction reaction, int64_t now)
{
    s->last_chance = INT64_MAX;
    if (!_is_handled (s, reaction, now))
        return false;
    s->chance_ends = s->kill_due;
    return signals_deliver (s);
}

bool signals_deliver (struct signals *s)
{
    bool withheld = s->withheld;

    if (withheld)
        s->slurm_kills = s->kill_due;
    s->withheld = false;
    return withheld;
}
