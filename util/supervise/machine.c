/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "machine.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/second.h"
#include "protocol/restart_rule.h"

#define NEVER LEASE_NEVER

/* Slurm signals the processes of a step one after the other; the last of a task is not later than this. */
#define SIGNALS_MS 300
/*
 * What a program does at once, such as to print a line, it does before it is stopped: not all tasks of a step
 * start at the same time, and one may be stopped because another one has ended.
 */
#define YOUNG_MS 1000
#define LOOK_MS 50
/* A process that does not die of SIGKILL hangs in the kernel; Slurm deals with those. */
#define KILL_MS 30000
#define KILL_PAUSE_MAX_MS 500

#define GRACE_MIN_MS 100
/* From Slurm's SIGTSTP to its SIGSTOP, at most; it waits two seconds. */
#define SUSPEND_MS 3000
/* So many looks at a task that has its grace. */
#define STEPS 20
#define STEP_MIN_MS 100
#define STEP_MAX_MS 5000

static int64_t _min (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* With a grace of 0, too, what dies of SIGTERM has the moment that this takes. */
static int64_t _grace_ms (const struct machine *m)
{
    int64_t grace = m->config->stop_grace * SECOND_MS;

    return grace < GRACE_MIN_MS ? GRACE_MIN_MS : grace;
}

/* Time. */

/* Between two looks at a task that has its grace. */
static int64_t _step_ms (const struct machine *m)
{
    int64_t step = _grace_ms (m) / STEPS;

    return step < STEP_MIN_MS ? STEP_MIN_MS : _min (step, STEP_MAX_MS);
}

/*
 * The clock that protects a program counts while that can run. Slurm suspends a job by SIGTSTP to its
 * programs, and soon SIGSTOP to all; and whatever stops the program stops this process, too. So no look at
 * a task that has its grace counts for more than two steps. A SIGTSTP that no SIGSTOP follows is one like any
 * other.
 */
static void _advance (struct machine *m, int64_t now)
{
    int64_t passed = now - m->now;

    if (m->frozen_until > m->now)
        passed = 0;
    if (m->phase == MACHINE_STOPS || m->stop_ordered)
        passed = _min (passed, 2 * _step_ms (m));
    m->now = now;
    m->run += passed;
}

/* When that clock will be there. */
static int64_t _when (const struct machine *m, int64_t run)
{
    int64_t from = m->frozen_until > m->now ? m->frozen_until : m->now;

    return run == NEVER ? NEVER : from + (run - m->run);
}

/* Effects. */

static struct effect *_add (struct machine *m, enum effect_kind kind)
{
    /* Each input has a few effects, and they are performed before the next one. */
    if (m->effects == MACHINE_MOST_EFFECTS)
        m->effects--;
    m->effect[m->effects] = (struct effect){ .kind = kind };
    return &m->effect[m->effects++];
}

static void _signal_program (struct machine *m, const struct signal *signal)
{
    if (m->alive)
        _add (m, EFFECT_SIGNAL)->signal = *signal;
}

static void _terminate_program (struct machine *m)
{
    _signal_program (m, &(struct signal){ .number = SIGTERM });
}

static void _report (struct machine *m)
{
    m->lease.reported = m->now;
    /* What has asked the task to end by now still counts when that is asked later. */
    if (m->run < m->signals.user_ends)
        m->signals.user_ends = INT64_MAX;
    m->reported = true;
    m->reports++;
    _add (m, EFFECT_REPORT);
}

bool machine_effect (struct machine *m, struct effect *effect)
{
    if (m->effects == 0)
        return false;
    *effect = m->effect[0];
    memmove (m->effect, m->effect + 1, (size_t)--m->effects * sizeof (m->effect[0]));
    return true;
}

/* Lives. */

/* If nothing is in the way: a spare, or a task that waits for the preflight, may begin one in any case. */
static bool _may_have_another (const struct machine *m)
{
    return m->config->restart.times > 0 || m->idle;
}

bool machine_can_restart (const struct machine *m)
{
    return _may_have_another (m) && !*m->cannot;
}

struct life_report machine_life (const struct machine *m, int64_t now)
{
    bool can = machine_can_restart (m);
    int64_t ago = _min (now - m->ended, LIFE_REPORT_MOST_AGO_MS);
    struct life_report life = { .number = m->reports,
                                .life = !can            ? -1
                                        : m->number < 0 ? 0
                                                        : m->number,
                                .ago_ms = m->idle ? 0 : (int)ago };

    if (_may_have_another (m) && !can)
        life.cannot = m->cannot;
    life.asked_signal = signals_asked (&m->signals, &m->report, m->run, &life.asked_at);
    return life;
}

static void _forbid_lives (struct machine *m, const char *why)
{
    if (!*m->cannot)
        snprintf (m->cannot, sizeof (m->cannot), "%s", why);
    _add (m, EFFECT_NO_LIFE);
}

static bool _is_asked (const struct machine *m)
{
    return signals_asked (&m->signals, &m->report, m->run, NULL) != 0;
}

int machine_asked (const struct machine *m, int64_t *at)
{
    static const struct exit_report runs = { .kind = EXIT_REPORT_EXIT };

    return signals_asked (&m->signals, &runs, m->run, at);
}

/* A task that was stopped for this life, or was spare, has failed if the life cannot begin. */
static void _set_unstarted (struct machine *m)
{
    m->phase = MACHINE_ENDED;
    if (!_is_asked (m) && m->report.kind == EXIT_REPORT_STOPPED) {
        m->report = (struct exit_report){ .kind = EXIT_REPORT_UNSTARTED, .number = 1 };
        m->status = W_EXITCODE (1, 0);
        _add (m, EFFECT_SAY_UNSTARTED);
    }
    _report (m);
}

static void _begin (struct machine *m)
{
    if (_is_asked (m) || !machine_can_restart (m)) {
        _set_unstarted (m);
        return;
    }
    m->phase = MACHINE_BEGINS;
    _add (m, EFFECT_BEGIN)->number = m->next;
}

void machine_begun (struct machine *m, int64_t now)
{
    _advance (m, now);
    m->fresh = m->number >= 0 || m->idle;
    m->number = m->next;
    m->phase = MACHINE_RUNS;
    m->alive = true;
    m->reported = m->idle = m->stopped = m->hung = m->stop_ordered = m->signals.withheld = false;
    m->young_until = m->run + YOUNG_MS;
}

/* If it is the first one, or had begun already, the task has failed as if its program had. */
void machine_cannot_begin (struct machine *m, int64_t now, const char *why)
{
    _advance (m, now);
    _forbid_lives (m, why);
    if (m->phase == MACHINE_BEGINS && (m->number >= 0 || m->idle)) {
        _set_unstarted (m);
        return;
    }
    if (m->phase == MACHINE_BEGINS)
        m->phase = MACHINE_RUNS;
    m->alive = false;
    m->status = W_EXITCODE (1, 0);
    m->ended = now;
    _add (m, EFFECT_SAY_UNSTARTED);
}

/* SIGKILL. */

static void _kill (struct machine *m, int then)
{
    m->phase = MACHINE_KILLS;
    m->then = then;
    m->kill_due = m->now;
    m->kill_last = m->now + KILL_MS;
    m->kill_pause_ms = 1;
}

/* The end. */

static void _finish (struct machine *m)
{
    m->phase = MACHINE_ENDED;
    m->stop_ordered = false;
    _add (m, EFFECT_FINISH);
    _report (m);
}

/*
 * When this end is known, other tasks may begin their next life. A task that has succeeded may have
 * left something to finish in the background, and so in a step that is asked to end; but if no other life can
 * begin here, a spare may get the place at once.
 */
static bool _ends_with_all (const struct machine *m)
{
    if (_is_asked (m))
        return false;
    return machine_can_restart (m) ? restart_rule_covers (&m->config->restart, &m->report)
                                   : m->config->lost_after > 0;
}

static void _end_as (struct machine *m, struct exit_report report, int status)
{
    if (m->phase == MACHINE_STOPS || m->phase == MACHINE_KILLS)
        m->ended = m->now;
    m->status = status;
    m->report = report;
    if (_ends_with_all (m))
        _kill (m, THEN_FINISH);
    else
        _finish (m);
}

static struct exit_report _program_report (const struct machine *m)
{
    bool signalled = WIFSIGNALED (m->status);

    return (struct exit_report){
        .kind = signalled                        ? EXIT_REPORT_SIGNAL
                : m->unstarted && m->status != 0 ? EXIT_REPORT_UNSTARTED
                                                 : EXIT_REPORT_EXIT,
        .number = signalled ? WTERMSIG (m->status) : WEXITSTATUS (m->status),
        .out_of_memory = m->out_of_memory,
    };
}

/*
 * A program that ended before it was asked to keeps its own status. One that ended because of its last
 * chance has been stopped.
 */
static void _end_by_itself (struct machine *m)
{
    static const struct exit_report stopped = { .kind = EXIT_REPORT_STOPPED };

    if (m->run < m->signals.chance_ends)
        _end_as (m, stopped, 0);
    else
        _end_as (m, _program_report (m), m->status);
}

/*
 * The signal of which the program has died may be Slurm's to the whole step, and not have reached this
 * process yet. Then it does not ask for another life, or is killed before it can; and is not what ended
 * the job.
 */
static void _look_at_end (struct machine *m)
{
    const struct exit_report report = _program_report (m);

    if (m->phase == MACHINE_RUNS) {
        bool matters = machine_can_restart (m) || !m->config->forward_signals;

        m->phase = MACHINE_WAITS;
        m->waits_until = m->status != 0 && matters ? m->now + SIGNALS_MS : m->now;
    }
    if (m->now >= m->waits_until || signals_asked (&m->signals, &report, m->run, NULL))
        _end_by_itself (m);
}

void machine_program_ended (struct machine *m, int64_t now, int status, bool unstarted, bool out_of_memory)
{
    _advance (m, now);
    m->ended = now;
    m->status = status;
    m->unstarted = unstarted;
    m->out_of_memory = out_of_memory;
    m->alive = false;
}

/* Its life has ended, and no other one can begin any more. */
static void _tell_no_life (struct machine *m)
{
    if (_ends_with_all (m))
        _kill (m, THEN_FINISH);
    else
        _report (m);
}

void machine_no_life (struct machine *m, int64_t now, const char *why)
{
    bool could = machine_can_restart (m);

    _advance (m, now);
    _forbid_lives (m, why);
    if (could && m->phase == MACHINE_ENDED)
        _tell_no_life (m);
}

/* Its stop. */

/*
 * If Slurm is about to kill the program, the program has had SIGTERM and does not get a second one,
 * and it keeps the time that Slurm gives it. A SIGTERM of Slurm's after which no SIGKILL came is
 * of the past: the program has survived it.
 */
static void _stop (struct machine *m)
{
    m->stopping = m->run;
    m->grace = m->run + _grace_ms (m);
    m->killed = false;
    if (m->run >= m->signals.slurm_kills)
        _add (m, EFFECT_SIGNAL_ALL)->number = SIGTERM;
    else if (m->grace < m->signals.slurm_kills)
        m->grace = m->signals.slurm_kills;
    m->phase = MACHINE_STOPS;
    m->stopped = true;
}

/* Python prints the stacks of all its threads at SIGABRT, also where it is blocked (PYTHONFAULTHANDLER). */
static void _abort (struct machine *m)
{
    m->grace = m->run + _grace_ms (m);
    m->phase = MACHINE_STOPS;
    m->stopped = m->hung = true;
    _add (m, EFFECT_SIGNAL_ALL)->number = SIGABRT;
}

static void _end_stopped (struct machine *m)
{
    static const struct exit_report hung = { .kind = EXIT_REPORT_HUNG },
                                    terminated = { .kind = EXIT_REPORT_SIGNAL, .number = SIGTERM };
    const struct exit_report stopped = { .kind = EXIT_REPORT_STOPPED,
                                         .killed = m->killed,
                                         .killed_after = m->killed ? m->killed_after : 0 };

    if (m->orphaned)
        _end_as (m, terminated, SIGTERM);
    else if (m->hung)
        _end_as (m, hung, W_EXITCODE (EXIT_REPORT_HUNG_CODE, 0));
    else
        _end_as (m, stopped, m->stop_status);
}

/* A task whose TaskProlog runs has not executed its program. */
static void _look_at_young (struct machine *m, bool unstarted)
{
    if (unstarted)
        m->young_until = m->run + YOUNG_MS;
    if (m->run >= m->stop_last || m->run >= m->young_until)
        _stop (m);
    else
        m->stop_due = _min (_when (m, m->stop_last), m->now + LOOK_MS);
}

/*
 * A program that has ended by itself keeps its status, unless its next life was certain. If it waits,
 * what it has left in the background ends, too, because other tasks may begin their next life.
 */
static void _obey_stop (struct machine *m, bool waits)
{
    if (m->stop_ordered || (m->phase != MACHINE_RUNS && !waits))
        return;
    m->stop_status = waits && !restart_rule_covers (&m->config->restart, &m->report) ? m->status : 0;
    m->stop_ordered = true;
    m->stop_last = m->run + _grace_ms (m);
    m->stop_due = m->now;
}

/* The end of a task that has ended before, and waits. */
static void _look_at_remains (struct machine *m, bool left)
{
    if (left)
        _stop (m);
    else
        _end_as (m, (struct exit_report){ .kind = EXIT_REPORT_STOPPED }, m->stop_status);
}

/* The rendezvous. */

/* The rendezvous knows of a code that counts more than the task's own. */
static void _let_go (struct machine *m, int code)
{
    if (code != GOAL_OWN_CODE)
        m->status = W_EXITCODE (code, 0);
    m->leaves = true;
}

/* The rendezvous knows the end of the task, as its goal says on this connection, or the last. */
static bool _end_is_known (const struct machine *m)
{
    return m->phase == MACHINE_ENDED && m->goal.report == m->reports;
}

/*
 * Not always the next one: a spare's first life has the number that its place has come to, and one that was
 * lost before all were stopped again does not come. If it cannot obey, a report that says so is on its way.
 * And what has been decided without knowing its last report is decided again with it.
 */
static bool _may_begin (const struct machine *m, int life)
{
    return _end_is_known (m) && life > m->number && machine_can_restart (m) && !_is_asked (m);
}

bool machine_listens (const struct machine *m)
{
    return (m->phase == MACHINE_RUNS && m->alive) || m->phase == MACHINE_STOPS || m->phase == MACHINE_ENDED;
}

/* Nothing of this task may go on. What waits for its next life waits in vain. */
static void _give_up_place (struct machine *m)
{
    bool ended = m->phase == MACHINE_ENDED;

    m->replaced = true;
    _forbid_lives (m, "a spare has its place");
    _kill (m, ended ? THEN_SUCCEED : THEN_STOPPED);
    m->stop_status = 0;
    m->hung = m->killed = false;
}

/* Its place may be given away. The task fails, and is restarted like another one that has failed. */
static void _lose_task (struct machine *m)
{
    if (m->phase == MACHINE_RUNS)
        _kill (m, THEN_GO_ON);
    else if (m->phase == MACHINE_STOPS)
        _kill (m, THEN_STOPPED);
    else
        _kill (m, THEN_REST);
}

/* Once, and as if Slurm had: what that means for the end of the task is the same. */
static void _ask_to_save (struct machine *m)
{
    static const struct signal signal = { .number = SIGTERM, .from_slurm = true };

    if (m->signals.slurms.number)
        return;
    signals_take (&m->signals, &signal, false, m->run);
    if (m->phase == MACHINE_RUNS)
        _signal_program (m, &signal);
    else if (m->phase == MACHINE_ENDED)
        _report (m);
}

/*
 * The next step towards it. What cannot be taken now, because what runs is being stopped, comes again with
 * the answer to the report of its end; and to stop what has met the report of an end is of the past.
 */
void machine_goal (struct machine *m, int64_t now, const struct goal *goal)
{
    bool known;

    _advance (m, now);
    m->goal = *goal;
    known = _end_is_known (m);
    if (goal->stop == GOAL_STOP_AT_ONCE && !m->replaced)
        _give_up_place (m);
    else if (known && goal->leave)
        _let_go (m, goal->code);
    else if (goal->stop == GOAL_STOP)
        _obey_stop (m, known);
    else if (goal->stop == GOAL_LEASE_OVER)
        _lose_task (m);
    else if (goal->stop == GOAL_ABORT && m->phase == MACHINE_RUNS)
        _abort (m);
    else if (goal->stop == GOAL_SAVE)
        _ask_to_save (m);
    else if (goal->stop == GOAL_RUN && _may_begin (m, goal->life)) {
        m->next = goal->life;
        _kill (m, THEN_BEGIN);
    }
}

/* The rendezvous may give the place of this task to a spare, and no order tells. */
static void _end_lease (struct machine *m)
{
    m->lease.ended = m->lease.link.heard;
    _lose_task (m);
}

/*
 * Once, and not by a task that was stopped: then the others are, too. A batch job that is cancelled loses its
 * srun, and at the same moment Slurm asks its tasks to end.
 */
static bool _may_say_alone (const struct machine *m)
{
    return m->config->prints && !m->said_alone && !m->stopped && m->signals.slurms.number == 0;
}

static void _say_alone (struct machine *m)
{
    if (_may_say_alone (m))
        _add (m, EFFECT_SAY_ALONE);
    m->said_alone = true;
}

/*
 * A task that has not begun, and cannot tell that it never will, may have got a place meanwhile: then its
 * work is not done.
 */
static void _leave_unasked (struct machine *m)
{
    bool owes = m->idle && !_end_is_known (m) && m->goal.code == GOAL_OWN_CODE;

    /* What Slurm ends keeps its code. */
    _let_go (m, owes ? 1 : m->signals.slurms.number ? GOAL_OWN_CODE : m->goal.code);
}

/* When to look at the rendezvous. */
static int64_t _lease_due (const struct machine *m)
{
    int64_t due = lease_over_at (&m->lease);
    bool asked = m->signals.slurms.number;

    /* Slurm ends the step, and the rendezvous, which may have died, would let it go. */
    if (m->phase == MACHINE_ENDED && asked && lease_lost_since (&m->lease) != LEASE_NEVER)
        return m->now;
    if (m->phase == MACHINE_ENDED) {
        due = _min (due, lease_leave_at (&m->lease, _end_is_known (m)));
        return asked ? _min (due, lease_alone_at (&m->lease, true)) : due;
    }
    if (m->phase == MACHINE_RUNS && (m->signals.withheld || _may_say_alone (m)))
        due = _min (due, lease_alone_at (&m->lease, false));
    return due;
}

void machine_link (struct machine *m, int64_t now, const struct link *link)
{
    _advance (m, now);
    if (link->stands && link->since != m->lease.link.since)
        m->goal.report = 0;
    m->lease.link = *link;
    if (!machine_listens (m) || now < _lease_due (m))
        return;
    if (now >= lease_over_at (&m->lease))
        _end_lease (m);
    else {
        _say_alone (m);
        if (m->phase == MACHINE_ENDED)
            _leave_unasked (m);
        if (m->phase == MACHINE_RUNS && signals_deliver (&m->signals))
            _terminate_program (m);
    }
}

/* Time. */

/* Its place is another one's. */
static void _succeed (struct machine *m)
{
    m->status = 0;
    _report (m);
    m->phase = MACHINE_ENDED;
}

/* All processes are dead, or more cannot be done. */
static void _killed (struct machine *m, bool left)
{
    if (left && (m->then == THEN_FINISH || m->then == THEN_BEGIN))
        _forbid_lives (m, "a process of its former run does not end");
    switch (m->then) {
        case THEN_FINISH: _finish (m); break;
        case THEN_STOPPED: _end_stopped (m); break;
        case THEN_GO_ON: m->phase = MACHINE_RUNS; break;
        case THEN_BEGIN: _begin (m); break;
        case THEN_SUCCEED: _succeed (m); break;
        case THEN_REST: m->phase = MACHINE_ENDED; break;
    }
}

static void _look_at_kill (struct machine *m, bool left)
{
    if (!left || m->now >= m->kill_last)
        _killed (m, left);
    else if (m->now >= m->kill_due) {
        _add (m, EFFECT_KILL);
        m->kill_due = m->now + m->kill_pause_ms;
        m->kill_pause_ms = m->kill_pause_ms < KILL_PAUSE_MAX_MS ? 2 * m->kill_pause_ms : m->kill_pause_ms;
    }
}

void machine_cannot_kill (struct machine *m, int64_t now)
{
    _advance (m, now);
    m->kill_last = m->kill_due = now;
}

static bool _is_last_chance (const struct machine *m)
{
    return m->alive && m->signals.withheld && m->run >= m->signals.last_chance;
}

static bool _is_stop_due (const struct machine *m)
{
    return m->stop_ordered && m->now >= m->stop_due;
}

static int _asks (const struct machine *m)
{
    switch (m->phase) {
        case MACHINE_STOPS:
        case MACHINE_KILLS: return MACHINE_ASKS_LEFT;
        case MACHINE_ENDED: return _is_stop_due (m) ? MACHINE_ASKS_LEFT : 0;
        case MACHINE_RUNS:
            return (_is_stop_due (m) ? MACHINE_ASKS_UNSTARTED : 0)
                   | (_is_last_chance (m) ? MACHINE_ASKS_REACTION : 0);
        default: return 0;
    }
}

/* Time goes on between a question and its sight: what was not asked then is not looked at. */
int machine_asks (struct machine *m, int64_t now)
{
    _advance (m, now);
    return m->asked = _asks (m);
}

static void _look_at_program (struct machine *m, const struct sight *sight)
{
    if (!m->alive) {
        _look_at_end (m);
        return;
    }
    /* Where Slurm signals every process, it may just have missed this one. */
    if (m->fresh && !m->config->forward_signals && _is_asked (m))
        _terminate_program (m);
    m->fresh = false;
    if (m->asked & MACHINE_ASKS_REACTION && signals_last_chance (&m->signals, sight->reaction, m->run))
        _terminate_program (m);
    if (m->asked & MACHINE_ASKS_UNSTARTED)
        _look_at_young (m, sight->unstarted);
}

void machine_look (struct machine *m, int64_t now, const struct sight *sight)
{
    _advance (m, now);
    switch (m->phase) {
        case MACHINE_RUNS: _look_at_program (m, sight); break;
        case MACHINE_WAITS: _look_at_end (m); break;
        case MACHINE_STOPS:
            if (!sight->left)
                _end_stopped (m);
            else if (m->run >= m->grace) {
                m->killed = true;
                m->killed_after = (int)((m->run - m->stopping) / SECOND_MS);
                _kill (m, THEN_STOPPED);
            }
            break;
        case MACHINE_KILLS: _look_at_kill (m, sight->left); break;
        case MACHINE_ENDED:
            if (m->asked & MACHINE_ASKS_LEFT)
                _look_at_remains (m, sight->left);
            break;
        default: break;
    }
    if (m->leaves && m->phase != MACHINE_LEFT) {
        m->phase = MACHINE_LEFT;
        _add (m, EFFECT_LEAVE);
    }
}

static int64_t _due (const struct machine *m)
{
    int64_t stop = m->stop_ordered ? m->stop_due : NEVER;

    switch (m->phase) {
        case MACHINE_RUNS:
            if (!m->alive || m->fresh)
                return m->now;
            if (m->run < m->signals.user_ends)
                stop = _min (stop, _when (m, m->signals.user_ends));
            return m->signals.withheld ? _min (stop, _when (m, m->signals.last_chance)) : stop;
        case MACHINE_WAITS: return m->waits_until;
        case MACHINE_STOPS: return _min (_when (m, m->grace), m->now + _step_ms (m));
        case MACHINE_KILLS: return _min (m->kill_due, m->kill_last);
        case MACHINE_ENDED: return m->leaves ? m->now : stop;
        default: return NEVER;
    }
}

int64_t machine_due (const struct machine *m)
{
    int64_t due = m->frozen_until > m->now ? _min (_due (m), m->frozen_until) : _due (m);

    return machine_listens (m) ? _min (due, _lease_due (m)) : due;
}

int64_t machine_lost_since (const struct machine *m)
{
    return m->phase == MACHINE_ENDED ? lease_lost_since (&m->lease) : LEASE_NEVER;
}

bool machine_is_suspended (const struct machine *m, int64_t now)
{
    return now < m->frozen_until;
}

/* Inputs that lead to little. */

/* Of a user, to programs that may survive it. Slurm ends the step by SIGTERM. */
static bool _is_for_others (const struct machine *m, const struct signal *signal)
{
    bool users = signal->number == SIGINT || signal->number == SIGQUIT || signal->number == SIGHUP;

    return users && m->phase == MACHINE_ENDED
           && ((m->idle && m->config->spare)
               || (m->report.kind == EXIT_REPORT_EXIT && m->report.number == 0));
}

void machine_signal (struct machine *m, int64_t now, const struct signal *signal)
{
    bool needed = m->phase == MACHINE_RUNS && now < lease_alone_at (&m->lease, false);

    _advance (m, now);
    if (_is_for_others (m, signal))
        return;
    if (signal->from_slurm && (signal->number == SIGTSTP || signal->number == SIGCONT))
        m->frozen_until = signal->number == SIGTSTP ? now + SUSPEND_MS : now;
    if (signals_take (&m->signals, signal, needed, m->run))
        _signal_program (m, signal);
    /* The rendezvous has learnt how the task ended; now there is something more to know. */
    if (signals_may_ask (signal) && m->phase == MACHINE_ENDED && _may_have_another (m) && _is_asked (m))
        _report (m);
}

/* slurmd takes the node for idle: start nothing more, and end what runs. */
void machine_slurmstepd_died (struct machine *m, int64_t now)
{
    _advance (m, now);
    if (m->orphaned)
        return;
    m->orphaned = true;
    _forbid_lives (m, "its slurmstepd has died");
    if (m->phase == MACHINE_RUNS && m->alive)
        _stop (m);
    else if (m->phase == MACHINE_ENDED)
        _tell_no_life (m);
}

/*
 * A spare is a task that has been stopped before its program started, and waits to be restarted. So is each
 * task before the preflight.
 */
void machine_start (struct machine *m, const struct supervisor_config *config, int64_t now)
{
    *m = (struct machine){ .config = config, .number = -1, .phase = MACHINE_BEGINS };
    m->goal = GOAL_FIRST;
    m->lease.config = m->signals.config = config;
    m->now = m->run = now;
    m->lease.ended = -1;
    if (m->config->spare || m->config->options.preflight) {
        m->idle = true;
        m->goal.life = GOAL_NO_LIFE;
        /* If it never hears of its first life, its work is not done. */
        _end_as (m, (struct exit_report){ .kind = EXIT_REPORT_STOPPED },
                 config->spare ? 0 : W_EXITCODE (1, 0));
    } else
        _add (m, EFFECT_BEGIN)->number = m->next;
}
