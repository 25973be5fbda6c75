/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The clock: what happens next, and what is due then.
 */
#include "config.h"

#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "common/second.h"
#include "common/silence.h"

/* After the last disturbance; longer than any bound of promises_ends.c. */
#define HORIZON_MS (INT64_C (5) * 3600 * 1000)

struct world w;

/* What an event does. */

/* A kernel whose data is not acknowledged counts from when it has sent that. */
static bool _waits_for_data (const struct event *event)
{
    const struct connection *c = &w.connection[event->a];
    int64_t breaks = c->unanswered + wire_broken_ms (c->rank, RENDEZVOUS);

    if (event->b != RENDEZVOUS || c->unanswered < wire_node (c->rank)->cut_since || w.now >= breaks)
        return false;
    events_push (breaks, BREAK, event->a, event->b);
    return true;
}

static void _break (const struct event *event)
{
    const struct connection *c = &w.connection[event->a];
    const struct node *node = wire_node (c->rank);

    if (!c->up[event->b] || !wire_is_cut (node) || node->cut_since > event->since || _waits_for_data (event))
        return;
    if (event->b == RENDEZVOUS && w.its[c->rank] == event->a)
        rendezvous_lose (c->rank, JOB_BROKEN_MS);
    else if (event->b == SUPERVISOR && w.supervisor[c->rank].alive
             && w.supervisor[c->rank].connection == event->a)
        link_pause (c->rank);
}

static void _see_end (const struct event *event)
{
    struct connection *c = &w.connection[event->a];
    struct supervisor *s = &w.supervisor[c->rank];

    if (event->b == RENDEZVOUS) {
        if (c->up[RENDEZVOUS] && w.runs && w.its[c->rank] == event->a)
            rendezvous_lose (c->rank, event->kind == TELL_RESET ? JOB_RESET_MS : JOB_CLOSED_MS);
        c->up[RENDEZVOUS] = false;
    } else if (c->up[SUPERVISOR] && s->alive && s->state == CONNECTED_STATE && s->connection == event->a)
        link_pause (c->rank);
}

static void _deliver (const struct event *event)
{
    struct message *message = &w.message[event->a];
    struct connection *c = &w.connection[message->connection];
    struct supervisor *s = &w.supervisor[c->rank];

    /* What an outage has delayed is sent again, but not by a dead node, nor on an aborted connection. */
    if (wire_node (c->rank)->dead || (event->b == SUPERVISOR && c->aborted))
        return;
    if (wire_is_cut (wire_node (c->rank))) {
        events_push (wire_node (c->rank)->cut_until, DELIVER, event->a, event->b);
        return;
    }
    c->underway -= event->b == SUPERVISOR;
    if (!c->up[event->b]) {
        events_push (w.now + wire_delay (), TELL_RESET, message->connection,
                     event->b == SUPERVISOR ? RENDEZVOUS : SUPERVISOR);
        return;
    }
    if (event->b == RENDEZVOUS)
        rendezvous_receive (message);
    else if (s->alive && s->inbox_count < MOST_INBOX)
        s->inbox[s->inbox_count++] = event->a;
}

static bool _is_for_rendezvous (const struct event *event)
{
    return event->kind == SENT
           || ((event->kind == DELIVER || event->kind == TELL_RESET || event->kind == TELL_CLOSE
                || event->kind == BREAK)
               && event->b == RENDEZVOUS)
           || event->kind == SLURM_ANSWERS;
}

static void _happen (const struct event *event)
{
    if (w.rendezvous_frozen && _is_for_rendezvous (event)) {
        events_push (moment_last (w.frozen_until, w.now + 1), event->kind, event->a, event->b)->since =
            event->since;
        return;
    }
    switch (event->kind) {
        case DELIVER: _deliver (event); break;
        case BREAK: _break (event); break;
        case TELL_RESET:
        case TELL_CLOSE: _see_end (event); break;
        case CONNECTED:
            if (w.supervisor[event->a].alive && w.supervisor[event->a].state == CONNECTING
                && w.supervisor[event->a].attempt == event->b && !wire_is_cut (wire_node (event->a)))
                link_connected (event->a);
            break;
        case SENT:
            if (rendezvous_is_up (w.connection[event->a].rank)
                && w.its[w.connection[event->a].rank] == event->a)
                w.rank[w.connection[event->a].rank].link = LINK_UP;
            break;
        case DISTURB: disturbance_begin (event->a); break;
        case CALM: disturbance_end (event->a); break;
        case STOP_ALL:
            if (w.suspended && w.suspensions == event->a)
                slurm_freeze (true);
            break;
        case KILL_STEP: slurm_kill_step (); break;
        case EXIT_KNOWN: slurm_know_exit (event->a); break;
        case SIGNAL: slurm_signal (event->a, event->b, true); break;
        case SLURM_ANSWERS:
            if (w.runs)
                rendezvous_hear_slurm ();
            break;
        case GIVE_UP_NODE:
            for (int i = 0; i < w.plan->tasks; i++)
                if (w.plan->node[i] == event->a) {
                    w.exit_status[i] = 0;
                    slurm_know_exit (i);
                }
            break;
    }
}

/* With spares it looks now and then whether a host is silent; that is of interest while one is cut off. */
static int64_t _rendezvous_due (void)
{
    int64_t look = w.asked_heard + HEARD_MS;
    int64_t next = job_due (w.job);

    for (int i = 0; w.plan->config.lost_after && i < w.plan->tasks; i++)
        if (rendezvous_is_up (i) && (wire_is_cut (wire_node (i)) || w.rank[i].silent))
            next = moment_first (next, look);
    return next;
}

static int64_t _next (void)
{
    int64_t next = w.events ? w.event[0].at : NEVER;

    if (w.runs && !w.rendezvous_frozen)
        next = moment_first (next, _rendezvous_due ());
    for (int i = 0; i < w.plan->tasks; i++) {
        const struct program *p = &w.program[i];

        next = moment_first (next, supervisor_due (i));
        if (p->alive && !p->stopped)
            next = moment_first (next, p->ends);
        next = moment_first (next, program_others_due (p));
    }
    return next;
}

static bool _all_over (void)
{
    if (w.srun || w.runs)
        return false;
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.supervisor[i].alive)
            return false;
    return true;
}

static void _begin (const struct plan *plan, int disturbances, struct history *history, bool print)
{
    /* What is large is not read before it is written. */
    w.plan = plan;
    w.history = history;
    w.print = print;
    w.random = (plan->seed + 77) * UINT64_C (0x9e3779b97f4a7c15) | 1;
    w.now = 100000;
    w.events = w.nth = w.messages = w.busy = w.suspensions = 0;
    w.asked_heard = 0;
    w.places = 0;
    w.rendezvous_frozen = w.suspended = w.overflow = w.dying = false;
    w.reached = 0;
    w.frozen_until = 0;
    memset (w.node, 0, sizeof (w.node));
    memset (w.program, 0, sizeof (w.program));
    memset (w.known, 0, sizeof (w.known));
    memset (w.exit_status, 0, sizeof (w.exit_status));
    history->plan = plan;
    history->begin = w.now;
    history->notes = history->generations = 0;
    history->all_ended = history->alive_at_end = history->has_ledger = false;
    history->hash = UINT64_C (0xcbf29ce484222325);
    for (int i = 0; i < plan->tasks; i++)
        rendezvous_begin_rank (i);
    w.connections = plan->tasks;
    if (!(w.job = job_create (&plan->config, w.rank, plan->tasks, w.place, w.places)))
        abort ();
    w.runs = w.srun = true;
    rendezvous_forget ();
    rendezvous_take (&(struct input){ .kind = LAUNCHED });
    rendezvous_note_places ();
    for (int i = 0; i < plan->tasks; i++)
        supervisor_begin (i);
    for (int i = 0; i < plan->tasks; i++)
        supervisor_run (i);
    for (int i = 0; i < disturbances; i++)
        events_push (w.now + plan->disturbance[i].at, DISTURB, i, 0);
}

/* All that is due at this moment. */
static void _live (void)
{
    bool happened = false;

    while (w.events && w.event[0].at <= w.now && !w.overflow) {
        struct event event = events_pop ();

        _happen (&event);
        happened = true;
    }
    programs_age ();
    for (int i = 0; i < w.plan->tasks; i++)
        if (supervisor_due (i) <= w.now)
            supervisor_run (i);
    if (w.runs && !w.rendezvous_frozen && (happened || _rendezvous_due () <= w.now))
        rendezvous_check ();
    if (w.dying && w.runs)
        rendezvous_begin_again ();
    w.dying = false;
}

void world_run (const struct plan *plan, int disturbances, struct history *history, bool print)
{
    int64_t horizon;

    _begin (plan, disturbances, history, print);
    horizon = w.now + HORIZON_MS;
    while (!_all_over () && !w.overflow) {
        int64_t next = _next ();

        if (next > horizon)
            break;
        w.now = moment_last (w.now, next);
        _live ();
    }
    history->end = w.now;
    history->all_ended = _all_over ();
    for (int i = 0; i < plan->tasks; i++)
        history->alive_at_end = history->alive_at_end || w.supervisor[i].alive;
    if (w.overflow)
        notes_add (STUCK, -1, w.events);
    for (int i = 0; i < plan->tasks; i++)
        free (w.rank[i].end.failure);
    job_destroy (w.job);
}
