/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A supervisor's connection to the rendezvous, as supervise/uplink.c makes it.
 */
#include "config.h"

#include "inside.h"

#include <stdio.h>

#include "common/silence.h"

#define PAUSE_MAX_MS 30000
#define PAUSE_REPORT_MS 5000
#define PAUSE_CUT_OFF_MS 1000
#define CONNECT_MS 10000

void link_hear (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (s->state == CONNECTED_STATE && s->known)
        s->link.heard =
            moment_last (s->link.heard, s->config.lost_after ? wire_heard (rank, SUPERVISOR) : w.now);
}

void link_pause (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    int longest = s->config.lost_after ? PAUSE_CUT_OFF_MS : s->report ? PAUSE_REPORT_MS : PAUSE_MAX_MS;

    link_hear (rank);
    if (s->state == CONNECTED_STATE)
        wire_close (s->connection, SUPERVISOR, true);
    s->attempt++;
    s->inbox_count = 0;
    if (w.now >= s->stable)
        s->pause_ms = PAUSE_MIN_MS;
    s->next = w.now + s->pause_ms;
    s->pause_ms = 2 * s->pause_ms < longest ? 2 * s->pause_ms : longest;
    if (s->link.stands) {
        s->link.stands = false;
        s->link.since = w.now;
    }
    s->state = PAUSING;
}

void link_fail (int rank, bool refused)
{
    w.supervisor[rank].link.refused = refused;
    link_pause (rank);
}

void link_connect (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    const struct node *node = wire_node (rank);
    bool refused = w.now < node->refused_until || (!wire_is_cut (node) && !w.runs);

    s->stable = NEVER;
    s->state = CONNECTING;
    s->attempt++;
    s->next = w.now + (s->config.lost_after ? silence_interval (s->config.lost_after) * 1000 : CONNECT_MS);
    if (refused)
        link_fail (rank, true);
    else if (!wire_is_cut (node))
        events_push (w.now + wire_delay (), CONNECTED, rank, s->attempt);
}

static void _send_status (int rank, struct message *message)
{
    struct supervisor *s = &w.supervisor[rank];

    message->kind = s->fresh ? HELLO : STATUS;
    s->fresh = false;
    if (message->status.life.cannot)
        snprintf (message->cannot, sizeof (message->cannot), "%s", message->status.life.cannot);
    wire_send (s->connection, RENDEZVOUS, message);
    if (s->report && wire_is_cut (wire_node (rank)))
        events_push (w.now + wire_broken_ms (rank, SUPERVISOR), BREAK, s->connection, SUPERVISOR);
}

/* Without a connection the next one begins with that. */
void link_tell_status (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    struct message message = { .status = { .ended = s->machine.reported,
                                           .report = s->machine.report,
                                           .life = machine_life (&s->machine, w.now) } };
    const struct signs *signs = &message.status.signs;
    int report = s->machine.reported ? s->machine.reports : 0;

    /* A spare has none. */
    if (w.program[rank].script)
        message.status.signs = program_signs (rank);
    message.status.signs.life = s->machine.number;
    message.status.check = s->checked;
    message.status.signs.suspended = s->suspended = machine_is_suspended (&s->machine, w.now);
    s->told_source = signs->source;
    s->told_overdue = signs->overdue;
    s->told_step = signs->step;
    s->step_told_at = w.now;
    if (s->state == CONNECTED_STATE)
        _send_status (rank, &message);
    else if (s->state == PAUSING && report && report != s->report) {
        s->pause_ms = PAUSE_MIN_MS;
        s->next = w.now;
    }
    s->report = report;
}

void link_connected (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (!w.runs || w.connections == MOST_CONNECTIONS) {
        w.overflow |= w.runs;
        link_fail (rank, true);
        return;
    }
    s->connection = w.connections++;
    w.connection[s->connection] = (struct connection){ .rank = rank, .up = { true, true } };
    s->known = s->link.refused = false;
    s->goal.report = 0;
    s->told_source = SIGNS_UNKNOWN;
    s->told_overdue = false;
    s->stable = w.now + PAUSE_MAX_MS;
    s->link.stands = true;
    s->link.since = w.now;
    s->state = CONNECTED_STATE;
    s->next = NEVER;
    s->fresh = true;
    link_tell_status (rank);
}

void link_tell_suspension (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (machine_is_suspended (&s->machine, w.now) != s->suspended)
        link_tell_status (rank);
}
