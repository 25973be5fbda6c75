/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Programs are scripts. They end, handle SIGTERM or not, leave something behind, and have activity.
 */
#include "config.h"

#include "inside.h"

#include <signal.h>

static int64_t _silent_from (const struct program *p)
{
    return p->script->hangs == NEVER ? NEVER : p->began + p->script->hangs;
}

/* From then on it is known that it gives no signs. */
static int64_t _judged (const struct program *p)
{
    return p->began + 1000 * w.plan->config.watch.first;
}

/* How many messages it has sent by now. */
static int _messages (const struct program *p)
{
    int64_t last =
        moment_first (moment_first (p->stopped ? p->stopped_at : w.now, p->ended), _silent_from (p));
    int64_t age = last - p->began - w.plan->start_ms;

    return age < 0 || w.plan->mute[p->place] ? 0 : 1 + (int)(age / w.plan->sign_ms);
}

/* The step that it has said last; 0: none, because it says nothing. */
int program_step (int rank)
{
    const struct program *p = &w.program[rank];
    int messages = w.supervisor[rank].watched && p->script ? _messages (p) : 0;

    return messages ? p->base + messages : 0;
}

void program_tell_clear (int rank)
{
    struct program *p = &w.program[rank];

    if (!p->alive && !p->others)
        notes_add (CLEAR, rank, 0)->life = p->life;
}

static void _end_program (int rank, int status, enum end_cause cause)
{
    struct program *p = &w.program[rank];
    struct note *note;

    p->alive = false;
    p->ended = w.now;
    p->status = status;
    p->others = p->script->leaves > 0 && status != SIGKILL;
    p->others_end = w.now + p->script->leaves;
    note = notes_add (ENDED, rank, 0);
    note->life = p->life;
    note->place = p->place;
    note->status = status;
    /* Its supervisor does not tell the one from the other. */
    note->cause = p->asked && cause != BY_SLURM ? BY_SUPERVISOR : cause;
    note->number = program_step (rank);
    w.reached = note->number > w.reached ? note->number : w.reached;
    notes_hash (status);
    notes_say ("rank %d: program ends, status %d%s", rank, status, p->others ? ", and leaves something" : "");
    w.supervisor[rank].child_ended = true;
    program_tell_clear (rank);
}

void program_signal (int rank, int number, enum end_cause cause)
{
    struct program *p = &w.program[rank];

    if (!p->alive || number == SIGCONT || number == SIGTSTP)
        return;
    if (number == SIGKILL)
        _end_program (rank, SIGKILL, cause);
    else if (p->stopped)
        return;
    else if (p->script->handles == 0 || (number != SIGTERM && number != SIGUSR1 && number != SIGINT))
        _end_program (rank, number, cause);
    else if (number == SIGTERM && p->script->handles != NEVER && !p->ending) {
        p->ending = true;
        p->cause = cause;
        p->ends = moment_first (p->ends, w.now + p->script->handles);
        p->status = p->script->handled_status;
    }
}

void program_kill_tree (int rank, enum end_cause cause)
{
    program_signal (rank, SIGKILL, cause);
    w.program[rank].others = false;
    program_tell_clear (rank);
}

void program_begin (int rank, int life)
{
    struct supervisor *s = &w.supervisor[rank];
    struct program *p = &w.program[rank];
    struct note *note;

    *p = (struct program){ .alive = true,
                           .life = life,
                           .place = s->place,
                           .generation = s->generation,
                           .began = w.now,
                           .ended = NEVER,
                           .base = w.reached > w.plan->lost_steps ? w.reached - w.plan->lost_steps : 0,
                           .script = &w.plan->script[s->place][life < 2 ? life : 2] };
    p->ends = p->script->lasts == NEVER ? NEVER : w.now + p->script->lasts;
    p->status = p->script->status;
    note = notes_add (BEGAN, rank, p->generation);
    note->status = w.reached;
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.program[i].alive && program_step (i) > note->status)
            note->status = program_step (i);
    note->life = life;
    note->base = p->base;
    note->place = p->place;
    notes_say ("rank %d: life %d begins in place %d, dictionary %d", rank, life, p->place, p->generation);
}

/* Signs of life, of a program that sends messages. */

struct signs program_signs (int rank)
{
    const struct program *p = &w.program[rank];
    int messages = _messages (p);
    int64_t last = messages ? p->began + w.plan->start_ms + (messages - 1) * w.plan->sign_ms : p->began;
    /* A watch stands still with its program. */
    int64_t now = p->stopped ? p->stopped_at : w.now;
    struct signs signs = { .life = p->life,
                           .messages = messages,
                           .step = program_step (rank),
                           .slowest_ms = messages > 2 ? (int)w.plan->sign_ms : 0,
                           .second_ms = messages > 1 ? (int)(w.plan->start_ms + w.plan->sign_ms) : 0,
                           .source = messages > 0 ? SIGNS_MESSAGES : SIGNS_UNKNOWN,
                           .silent_ms = (int)(now - last),
                           .ago_ms = (int)(now - last) };

    if (w.plan->mute[p->place] && w.now >= _judged (p))
        signs.source = SIGNS_NONE;
    if (w.supervisor[rank].asked_to_end || w.supervisor[rank].machine.stopped)
        signs.source = SIGNS_DONE;
    signs.suspended = machine_is_suspended (&w.supervisor[rank].machine, w.now);
    signs.overdue = signs.source == SIGNS_MESSAGES && signs.silent_ms >= 1000 * w.plan->config.watch.seconds;
    return signs;
}

static bool _is_watched (int rank)
{
    return w.supervisor[rank].watched && w.program[rank].alive && !w.program[rank].stopped;
}

int64_t program_signs_due (int rank)
{
    const struct supervisor *s = &w.supervisor[rank];
    const struct program *p = &w.program[rank];
    int64_t due = NEVER, higher = NEVER;

    if (!_is_watched (rank) || s->asked_to_end || s->state != CONNECTED_STATE
        || s->machine.phase != MACHINE_RUNS)
        return NEVER;
    if (s->told_source == SIGNS_UNKNOWN)
        return w.plan->mute[p->place] ? _judged (p) : p->began + w.plan->start_ms;
    if (w.plan->mute[p->place])
        return NEVER;
    if (!s->told_overdue && _silent_from (p) != NEVER)
        due = moment_first (due, _silent_from (p) + 1000 * w.plan->config.watch.seconds);
    /* The first step that is higher than any of its own before. */
    if (s->told_step <= s->highest && p->base <= s->highest)
        higher = p->began + w.plan->start_ms + (s->highest - p->base) * w.plan->sign_ms;
    if (higher < _silent_from (p))
        due = moment_first (due, higher);
    /* Others after a second, at the begin of a life. */
    higher = p->began + w.plan->start_ms + (s->told_step - p->base) * w.plan->sign_ms;
    higher = moment_last (higher, s->step_told_at + 1000);
    return higher < _silent_from (p) ? moment_first (due, higher) : due;
}

int64_t program_others_due (const struct program *p)
{
    return p->others && !p->stopped ? p->others_end : NEVER;
}

/* Time stands still for a program that is stopped. */
void programs_stop (bool stop)
{
    for (int i = 0; i < w.plan->tasks; i++) {
        struct program *p = &w.program[i];
        int64_t stood = w.now - p->stopped_at;

        if (p->stopped == stop || (stop && !p->alive && !p->others))
            continue;
        p->stopped = stop;
        if (stop) {
            p->stopped_at = w.now;
            continue;
        }
        p->began += stood;
        p->ended = p->ended == NEVER ? NEVER : w.now;
        p->ends += p->ends == NEVER ? 0 : stood;
        p->others_end += stood;
    }
}

void programs_age (void)
{
    for (int i = 0; i < w.plan->tasks; i++) {
        struct program *p = &w.program[i];

        if (p->stopped)
            continue;
        if (p->alive && w.now >= p->ends)
            _end_program (i, p->status, p->ending ? p->cause : BY_ITSELF);
        if (p->others && w.now >= p->others_end) {
            p->others = false;
            program_tell_clear (i);
        }
    }
}
