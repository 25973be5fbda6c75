/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What disturbs a step from outside.
 */
#include "config.h"

#include "inside.h"

#include <signal.h>

#include "common/silence.h"

/* Slurm notices after this time that a node is gone. */
#define SLURMD_TIMEOUT_MS 90000
/* ... and kills what srun has left. */
#define SRUN_LOST_MS 3000

static void _cut_node (const struct disturbance *d, int number)
{
    struct node *node = &w.node[number];
    int64_t until = w.now + d->lasts;

    if (node->outages == MOST_OUTAGES || node->dead)
        return;
    node->outage[node->outages].from = w.now;
    node->outage[node->outages++].until = until;
    if (!wire_is_cut (node))
        node->cut_since = w.now;
    node->cut_until = moment_last (node->cut_until, until);
    if (d->kind == REJECT)
        node->refused_until = moment_last (node->refused_until, until);
    if (d->kind == BLOCK)
        node->blocked_until = moment_last (node->blocked_until, until);
    if (d->kind == CUT)
        node->isolated_until = moment_last (node->isolated_until, until);
    wire_cut (number);
}

/* If it is srun's node, none of the others reaches it. */
static void _cut (const struct disturbance *d)
{
    for (int i = 0; i < w.plan->nodes; i++)
        if ((i == d->target) != (d->target == w.plan->srun))
            _cut_node (d, i);
}

static void _die (int number)
{
    struct node *node = &w.node[number];

    if (node->dead)
        return;
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.plan->node[i] == number && w.supervisor[i].alive) {
            slurm_lose_supervisor (i);
            w.supervisor[i].frozen = true;
        }
    if (node->outages < MOST_OUTAGES) {
        node->outage[node->outages].from = w.now;
        node->outage[node->outages++].until = NEVER;
    }
    node->cut_since = w.now;
    node->dead = true;
    wire_cut (number);
    events_push (w.now + SLURMD_TIMEOUT_MS, GIVE_UP_NODE, number, 0);
}

/* The rendezvous' side is gone; the kernel of the other one finds out when it asks. */
static void _open_half (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    int lost_after = s->config.lost_after, ask = lost_after ? silence_interval (lost_after) : 30;

    if (!s->alive || s->state != CONNECTED_STATE || w.its[rank] != s->connection || !w.runs
        || w.rendezvous_frozen)
        return;
    w.connection[s->connection].up[RENDEZVOUS] = false;
    w.its[rank] = -1;
    w.rank[rank].link = LINK_NONE;
    rendezvous_take (&(struct input){ .kind = ABSENT,
                                      .rank = rank,
                                      .ms = JOB_RESET_MS,
                                      .heard = lost_after ? wire_heard (rank, RENDEZVOUS) : w.now });
    events_push (w.now + events_below (1000 * ask), TELL_RESET, s->connection, SUPERVISOR);
}

static void _reset (int rank)
{
    const struct supervisor *s = &w.supervisor[rank];

    if (!s->alive || s->state != CONNECTED_STATE)
        return;
    events_push (w.now + events_below (5), TELL_RESET, s->connection, SUPERVISOR);
    events_push (w.now + events_below (5), TELL_RESET, s->connection, RENDEZVOUS);
}

void disturbance_begin (int number)
{
    const struct disturbance *d = &w.plan->disturbance[number];
    struct supervisor *s = &w.supervisor[d->target];

    /* The rendezvous decides. */
    if (d->kind == LIMIT)
        return;
    notes_add (DISTURBED, d->target, number)->status = d->kind;
    notes_say ("disturbance %d", number);
    events_push (w.now + d->lasts, CALM, number, 0);
    switch (d->kind) {
        case CUT:
        case BLOCK:
        case REJECT: _cut (d); break;
        case RESET: _reset (d->target); break;
        case RESET_ALL:
            for (int i = 0; i < w.plan->tasks; i++)
                _reset (i);
            break;
        case DIE: _die (d->target); break;
        case KILL_PROGRAM:
            if (!wire_node (d->target)->dead)
                program_signal (d->target, d->number, BY_OUTSIDE);
            break;
        case KILL_SUPERVISOR:
            if (!wire_node (d->target)->dead)
                slurm_kill_supervisor (d->target);
            break;
        case KILL_FORK_SERVER:
            if (s->alive && s->fork_server && !s->frozen && w.now >= s->busy_until) {
                s->fork_server = false;
                machine_no_life (&s->machine, w.now, "tf-fork-server was killed");
                supervisor_perform (d->target);
            }
            break;
        case KILL_SLURMSTEPD:
            if (s->alive && !s->frozen && !wire_node (d->target)->dead && w.now >= s->busy_until) {
                s->orphaned = true;
                machine_slurmstepd_died (&s->machine, w.now);
                supervisor_perform (d->target);
            }
            break;
        case HALF_OPEN: _open_half (d->target); break;
        case SUSPEND: slurm_suspend (d->lasts); break;
        case WARN: slurm_signal_step (d->number); break;
        case CANCEL:
            slurm_signal_step (SIGTERM);
            events_push (w.now + 1000 * w.plan->kill_wait, KILL_STEP, 0, 0);
            break;
        case KILL_SRUN:
            slurm_end_srun (128 + SIGKILL);
            events_push (w.now + SRUN_LOST_MS, KILL_STEP, 0, 0);
            break;
        case KILL_RENDEZVOUS: w.dying = w.runs && !w.rendezvous_frozen; break;
        case KILL_GROUP:
            for (int i = 0; i < w.plan->tasks && w.program[d->target].alive && !w.program[d->target].stopped;
                 i++)
                if (w.plan->node[i] == w.plan->node[d->target]) {
                    slurm_signal (i, SIGTERM, false);
                    program_signal (i, SIGTERM, BY_OUTSIDE);
                }
            break;
        case LIMIT:
        case DISTURBANCE_KINDS: break;
    }
}

void disturbance_end (int number)
{
    const struct disturbance *d = &w.plan->disturbance[number];

    notes_add (CALMED, d->target, number)->status = d->kind;
    /* Not by the end of another suspension, which had nothing to suspend. */
    if (d->kind == SUSPEND && w.now >= w.frozen_until)
        slurm_resume ();
}
