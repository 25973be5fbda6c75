/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A supervisor's loop (supervise/tf-supervise.c). What decides is the real machine.
 */
#include "config.h"

#include "inside.h"

#include <signal.h>
#include <string.h>

static void _begin_life (int rank, int number)
{
    struct supervisor *s = &w.supervisor[rank];

    if (!s->fork_server) {
        machine_cannot_begin (&s->machine, w.now, "tf-fork-server was killed");
        return;
    }
    if (s->has_answer) {
        s->generation = s->answer.generation;
        s->place = s->answer.place;
        s->config.lost_after = s->answer.lost_after;
        if (s->config.spare) {
            s->config.serves = s->answer.serves;
            s->config.spare = false;
        }
        s->watched = s->answer.watched;
    }
    s->told_source = SIGNS_UNKNOWN;
    s->told_overdue = false;
    s->told_step = 0;
    program_begin (rank, number);
    machine_begun (&s->machine, w.now);
    if (s->had_life)
        s->report = 0;
    s->has_answer = false;
    s->had_life = true;
}

/* It passes on what its program has printed, and does nothing else. */
static bool _is_busy (int rank)
{
    return w.now < w.supervisor[rank].busy_until;
}

/* A message of slurmstepd's that does not get through is lost; a firewall lets it pass. */
void supervisor_tell_srun (int rank)
{
    const struct node *node = wire_node (rank);

    if (w.now >= node->isolated_until && w.now >= node->blocked_until && !w.supervisor[rank].orphaned)
        events_push (w.now + wire_delay (), EXIT_KNOWN, rank, 0);
    else
        notes_add (UNHEARD, rank, 0);
}

static void _leave (int rank, int status)
{
    struct supervisor *s = &w.supervisor[rank];

    notes_add (LEFT, rank, s->state == CONNECTED_STATE)->status = status;
    notes_hash (status);
    notes_say ("rank %d: supervisor leaves with status %d", rank, status);
    s->alive = false;
    s->left = true;
    w.exit_status[rank] = status;
    if (s->state == CONNECTED_STATE)
        wire_close (s->connection, SUPERVISOR, events_below (2));
    supervisor_tell_srun (rank);
}

static void _perform (int rank, const struct effect *effect)
{
    struct supervisor *s = &w.supervisor[rank];
    struct program *p = &w.program[rank];

    switch (effect->kind) {
        case EFFECT_BEGIN: _begin_life (rank, effect->number); break;
        case EFFECT_SIGNAL: program_signal (rank, effect->signal.number, BY_SLURM); break;
        case EFFECT_SIGNAL_ALL:
            notes_say ("rank %d: all get %d", rank, effect->number);
            if (p->alive || p->others)
                notes_add (ASKED, rank, effect->number)->life = p->life;
            p->asked = true;
            program_signal (rank, effect->number, BY_SUPERVISOR);
            if (!p->alive && p->others && p->script->handles != NEVER) {
                p->others = false;
                program_tell_clear (rank);
            }
            break;
        case EFFECT_KILL:
            if (p->alive || p->others) {
                struct note *note = notes_add (KILLED, rank, p->alive);

                note->life = p->life;
                note->place = p->place;
                notes_say ("rank %d: kills", rank);
            }
            program_kill_tree (rank, BY_SUPERVISOR);
            break;
        case EFFECT_NO_LIFE: s->fork_server = false; break;
        case EFFECT_FINISH:
            /* Of a spare nothing has run. */
            s->busy_until = p->script && rank % 2 ? w.now + w.plan->tee : 0;
            break;
        case EFFECT_REPORT:
            notes_say ("rank %d: reports %d %d%s", rank, s->machine.report.kind, s->machine.report.number,
                       machine_can_restart (&s->machine) ? "" : ", no other life");
            if (program_step (rank) > s->highest)
                s->highest = program_step (rank);
            link_tell_status (rank);
            break;
        case EFFECT_LEAVE: _leave (rank, s->machine.status); break;
        default: break;
    }
}

void supervisor_perform (int rank)
{
    struct effect effect;

    while (w.supervisor[rank].alive && !_is_busy (rank)
           && machine_effect (&w.supervisor[rank].machine, &effect))
        _perform (rank, &effect);
}

/* Checks of its node. */

#define CHECK_MS 5000

/* Both are there, and nothing is between them. */
static bool _reaches (int a, int b)
{
    const struct plan *plan = w.plan;
    int one = plan->node[a], other = plan->node[b];
    bool firewall = (one == plan->firewall[0] && other == plan->firewall[1])
                    || (one == plan->firewall[1] && other == plan->firewall[0]);

    return !firewall && plan->health[one] != DEAF && plan->health[other] != DEAF
           && !wire_is_cut (wire_node (a)) && !wire_is_cut (wire_node (b)) && w.supervisor[b].alive;
}

static void _begin_check (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    enum health health = w.plan->health[w.plan->node[rank]];
    bool hangs = health == HANGS && s->check.port == 0;

    s->check_ends = health == UNTOLD ? NEVER : w.now + (hangs ? CHECK_MS : 20 + events_below (200));
}

static void _end_check (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    enum health health = w.plan->health[w.plan->node[rank]];
    int partner = s->check.port - 40000;

    s->check_ends = NEVER;
    s->checked = (struct check_report){ .number = s->check.number, .sent = s->check.sent, .clock = 1 };
    if (s->check.port == 0)
        s->checked.result = health == FAILS || health == HANGS ? CHECK_PROGRAM : CHECK_PASSED;
    else if (!s->check.serves && _reaches (rank, partner))
        s->checked.rate = 1000 + events_below (900);
    if (s->checked.rate && (health == SLOW || w.plan->health[w.plan->node[partner]] == SLOW))
        s->checked.rate /= 20;
    link_tell_status (rank);
}

static void _take_check (int rank, const struct check_order *order)
{
    struct supervisor *s = &w.supervisor[rank];

    if (!s->config.options.preflight || order->number <= s->check.number)
        return;
    s->check = *order;
    _begin_check (rank);
}

static void _take_goal (int rank, const struct message *message)
{
    struct supervisor *s = &w.supervisor[rank];
    bool asked = message->goal.question > s->goal.question;

    s->known = true;
    link_hear (rank);
    if (s->config.lost_after && w.now - s->link.heard >= s->config.lost_after * 1000) {
        link_pause (rank);
        return;
    }
    s->goal = message->goal;
    if (s->report && !wire_awaits_answer (s))
        s->stable = w.now;
    if (message->answer) {
        s->has_answer = true;
        s->answer = *message;
    }
    if (asked)
        notes_add (QUESTION, rank, s->goal.question);
    if (asked && s->machine.phase == MACHINE_RUNS && w.program[rank].alive)
        link_tell_status (rank);
    notes_say ("rank %d: goal: life %d, stop %d, report %d%s, question %d", rank, s->goal.life,
               (int)s->goal.stop, s->goal.report, s->goal.leave ? ", leave" : "", s->goal.question);
    _take_check (rank, &s->goal.check);
    machine_goal (&s->machine, w.now, &s->goal);
}

static void _serve_link (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (s->inbox_count > 0) {
        int message = s->inbox[0];

        memmove (s->inbox, s->inbox + 1, (size_t)--s->inbox_count * sizeof (s->inbox[0]));
        _take_goal (rank, &w.message[message]);
    } else if (w.now >= s->next && s->state == CONNECTING)
        link_fail (rank, false);
    else if (w.now >= s->next && s->state == PAUSING)
        link_connect (rank);
}

int64_t supervisor_due (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    int64_t due;

    if (!s->alive || s->frozen)
        return NEVER;
    if (_is_busy (rank))
        return s->busy_until;
    if (s->child_ended || s->pendings || s->machine.effects)
        return w.now;
    due = moment_first (machine_due (&s->machine), program_signs_due (rank));
    due = moment_first (due, s->check_ends);
    if (!machine_listens (&s->machine))
        return due;
    return s->inbox_count ? w.now : moment_first (due, s->next);
}

static void _take_signals (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    for (int i = 0; i < s->pendings; i++) {
        machine_signal (&s->machine, w.now, &s->pending[i]);
        if (s->machine.signals.slurms.number)
            s->asked_to_end = true;
        supervisor_perform (rank);
    }
    s->pendings = 0;
}

/* tf-supervise.c's loop, once. */
static void _run_supervisor_once (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    const struct program *p = &w.program[rank];
    struct sight sight;
    int asks;

    _take_signals (rank);
    if (s->child_ended) {
        s->child_ended = false;
        machine_program_ended (&s->machine, w.now, p->status, false, false);
    }
    supervisor_perform (rank);
    if (_is_busy (rank))
        return;
    link_hear (rank);
    machine_link (&s->machine, w.now, &s->link);
    supervisor_perform (rank);
    asks = machine_asks (&s->machine, w.now);
    sight = (struct sight){ .left = asks & MACHINE_ASKS_LEFT && (p->alive || p->others),
                            .reaction = p->script && p->script->handles ? SIGNALS_HANDLE : SIGNALS_DIE };
    machine_look (&s->machine, w.now, &sight);
    supervisor_perform (rank);
    if (_is_busy (rank))
        return;
    if (s->alive && w.now >= s->check_ends)
        _end_check (rank);
    if (s->alive && w.now >= program_signs_due (rank))
        link_tell_status (rank);
    if (s->alive)
        link_tell_suspension (rank);
    if (s->alive && machine_listens (&s->machine))
        _serve_link (rank);
    supervisor_perform (rank);
}

void supervisor_run (int rank)
{
    int looks = 0;

    do
        _run_supervisor_once (rank);
    while (supervisor_due (rank) <= w.now && looks++ < 100);
    if (looks > 100) {
        notes_add (STUCK, rank, 0);
        w.overflow = true;
    }
}

void supervisor_begin (int i)
{
    const struct rendezvous_config *c = &w.plan->config;
    struct supervisor *s = &w.supervisor[i];

    *s = (struct supervisor){ .alive = true,
                              .fork_server = true,
                              .connection = i,
                              .state = CONNECTED_STATE,
                              .next = NEVER,
                              .check_ends = NEVER,
                              .known = true,
                              .pause_ms = PAUSE_MIN_MS,
                              .place = i,
                              .link = { .heard = w.now, .since = w.now, .stands = true } };
    s->config = (struct supervisor_config){ .rank = i,
                                            .stop_grace = c->stop_grace,
                                            .kill_wait = w.plan->kill_wait,
                                            .forward_signals = w.plan->forwards,
                                            .serves = w.rank[i].place && w.rank[i].place->duty.serves,
                                            .restart = c->restart,
                                            .lost_after = c->lost_after,
                                            .options = c->task,
                                            .spare = w.plan->kind[i] == RULES_SPARE,
                                            .prints = i == 0 };
    s->watched = c->watch.seconds && w.rank[i].place && w.rank[i].place->duty.works;
    machine_start (&s->machine, &s->config, w.now);
    s->had_life = s->config.spare || s->config.options.preflight;
}
