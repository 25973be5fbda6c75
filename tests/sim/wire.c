/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The network: messages take their time, a node may be cut off, and kernels give connections up
 * (rendezvous/supervisors.c, supervise/uplink.c).
 */
#include "config.h"

#include "inside.h"

#include "common/silence.h"

#define IDLE_LOST_MS 60000
#define REPORT_LOST_MS 5000

struct node *wire_node (int rank)
{
    return &w.node[w.plan->node[rank]];
}

bool wire_is_cut (const struct node *node)
{
    return node->dead || w.now < node->cut_until;
}

int64_t wire_delay (void)
{
    return 1 + events_below ((int)w.plan->delay + 1);
}

/* When what one side says at this moment is there; never if its node is dead. */
static int64_t _arrival (int connection, enum side to)
{
    struct connection *c = &w.connection[connection];
    const struct node *node = wire_node (c->rank);
    int64_t at = w.now + wire_delay ();

    if (node->dead)
        return NEVER;
    /* Behind what was on its way when the path was cut again. */
    at = moment_last (at, node->cut_until + (wire_is_cut (node) ? 1 + events_below (500) : 0));
    return c->last[to] = moment_last (at, c->last[to]);
}

void wire_send (int connection, enum side to, const struct message *message)
{
    int64_t at = _arrival (connection, to);
    struct connection *c = &w.connection[connection];
    const struct node *node = wire_node (c->rank);

    if (to == SUPERVISOR && wire_is_cut (node) && c->unanswered < node->cut_since)
        c->unanswered = w.now;
    c->underway += to == SUPERVISOR;
    if (at == NEVER)
        return;
    if (w.messages == MOST_MESSAGES) {
        w.overflow = true;
        return;
    }
    w.message[w.messages] = *message;
    w.message[w.messages].connection = connection;
    events_push (at, DELIVER, w.messages++, to);
}

/* When the kernel of the other host has answered last: it is asked every few seconds. */
static int64_t _answered (int rank, enum side side)
{
    int interval = 1000 * silence_interval (w.plan->config.lost_after);
    const struct node *node = wire_node (rank);
    int phase = (rank * 7919 + side * 104729) % interval;
    int64_t at = w.now - (w.now + phase) % interval;

    for (int i = node->outages - 1; i >= 0; i--)
        while (at >= node->outage[i].from && at < node->outage[i].until)
            at -= interval;
    return at;
}

/* Each side asks at other times, and the rendezvous sees the questions of the other one, too. */
int64_t wire_heard (int rank, enum side side)
{
    int64_t at = _answered (rank, side);

    return side == RENDEZVOUS ? moment_last (at, _answered (rank, SUPERVISOR)) : at;
}

bool wire_awaits_answer (const struct supervisor *s)
{
    return s->report && s->goal.report != s->report;
}

int wire_broken_ms (int rank, enum side side)
{
    int lost_after = w.plan->config.lost_after;
    const struct supervisor *s = &w.supervisor[rank];

    if (side == RENDEZVOUS)
        return lost_after ? lost_after * 1000 : IDLE_LOST_MS;
    if (s->config.lost_after)
        return s->config.lost_after * 500;
    return wire_awaits_answer (s) ? REPORT_LOST_MS : IDLE_LOST_MS;
}

/* The other side learns of it, if it can; else when the path is back. */
void wire_close (int connection, enum side side, bool reset)
{
    struct connection *c = &w.connection[connection];
    int64_t at;

    if (!c->up[side])
        return;
    c->up[side] = false;
    at = _arrival (connection, side == SUPERVISOR ? RENDEZVOUS : SUPERVISOR);
    if (at != NEVER)
        events_push (at, reset ? TELL_RESET : TELL_CLOSE, connection,
                     side == SUPERVISOR ? RENDEZVOUS : SUPERVISOR);
}

/* A path is cut: both kernels give the connection up after a while. */
void wire_cut (int number)
{
    for (int i = 0; i < w.connections; i++)
        for (int side = SUPERVISOR; side <= RENDEZVOUS; side++)
            if (w.connection[i].up[side] && w.plan->node[w.connection[i].rank] == number)
                events_push (w.now + wire_broken_ms (w.connection[i].rank, side) + events_below (1000), BREAK,
                             i, side);
}
