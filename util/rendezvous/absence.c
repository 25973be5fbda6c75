/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "absence.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/list_text.h"
#include "common/silence.h"
#include "console.h"
#include "events.h"
#include "job.h"
#include "rank_names.h"
#include "spares.h"

static const struct failure_text nothing = { .source = FAILURE_TEXT_NONE };

/* MSG_PEEK clears an error of the socket; the read that follows then shows end-of-file. */
int absence_ms (const struct peer *peer)
{
    char byte;
    ssize_t n = recv (peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n == 0)
        return ABSENCE_CLOSED_MS;
    return n < 0 && errno == ECONNRESET ? ABSENCE_RESET_MS : ABSENCE_BROKEN_MS;
}

/* A supervisor may have another connection, which this process has not accepted yet. */
#define ACCEPT_MS 1000

/*
 * How long after another one a supervisor may connect when the network is back: an attempt (uplink.c), the
 * pause before the next one, and a second.
 */
static int _return_ms (int lost_after)
{
    return silence_interval (lost_after) * 1000 + 2000;
}

/*
 * Not before a supervisor that is cut off has ended its task, however soon it would be lost otherwise. One
 * that has closed its connection, and does not come back, is dead.
 */
static void _set_given_up (struct rank *rank, int lost_after, int ms)
{
    rank->given_up = rank->last_sign;
    rank->given_up.at_ms += silence_verdict_ms (lost_after);
    if (ms == ABSENCE_CLOSED_MS)
        rank->given_up = deadline_min (rank->given_up, rank->away);
    rank->given_up = deadline_max (rank->given_up, deadline_in_ms (ACCEPT_MS));
    rank->away = deadline_max (rank->away, rank->given_up);
}

void absence_begin (struct server *server, struct rank *rank, int ms)
{
    struct shutdown *s = server->shutdown;

    if (!s || !rank_is_supervised (rank))
        return;
    /* The end of one that waits is known. */
    if (rank->state == RANK_RUNS || rank->state == RANK_SPARE)
        ends_note (&rank->end, s->launched, 0, &nothing, 0);
    rank->last_sign = deadline_in_ms (rank->peer ? -silence_ms (rank->peer->fd) : 0);
    rank->away = deadline_in_ms (ms);
    if (server->config.lost_after > 0)
        _set_given_up (rank, server->config.lost_after, ms);
    s->next_lost = deadline_min (s->next_lost, deadline_min (rank->away, rank->given_up));
}

/*
 * A rank comes back that was silent for longer than a supervisor waits before it ends its task: perhaps it
 * was this host that was cut off. Then the others come back, too, and keep their places.
 */
static void _wait_for_others (struct server *server, const struct rank *rank)
{
    const struct roster *roster = server->shutdown->roster;
    int lost_after = server->config.lost_after;

    if (lost_after == 0 || deadline_ago_ms (rank->last_sign) < lost_after * INT64_C (1000))
        return;
    for (int i = 0; i < roster->tasks; i++) {
        struct rank *other = &roster->rank[i];

        if (!deadline_is_set (other->given_up))
            continue;
        other->given_up = deadline_max (other->given_up, deadline_in_ms (_return_ms (lost_after)));
        other->away = deadline_max (other->away, other->given_up);
    }
}

void absence_end (struct server *server, struct rank *rank)
{
    if (!server->shutdown)
        return;
    _wait_for_others (server, rank);
    rank->away = rank->given_up = rank->last_sign = deadline_never ();
    rank->ordered = false;
    restarts_returned (server->shutdown->restarts, rank);
    if (rank->state == RANK_LOST) {
        job_runs (server->shutdown, rank);
        if (rank->kind == RULES_SPARE)
            rank->state = RANK_SPARE;
    }
    /* It may be a spare for one that is given up. */
    if (rank->state == RANK_SPARE)
        server->shutdown->next_lost = deadline_in_ms (0);
}

/* A lost spare is waited for as long as it may be needed. */
static bool _is_overdue (const struct shutdown *s, const struct rank *rank)
{
    return rank_is_supervised (rank)
           && (deadline_passed (rank->away)
               || (rank->state == RANK_SPARE && deadline_passed (rank->given_up)
                   && job_is_done_with (s, rank)));
}

/* Between two looks whether a spare that is silent is back. */
#define SPARE_MS 1000

/* A rank that a spare would replace, if there were one, is lost later. */
static struct deadline _next (const struct server *server, const struct rank *rank)
{
    if (!deadline_passed (rank->given_up))
        return deadline_min (rank->given_up, rank->away);
    return spares_are_silent (server) ? deadline_min (deadline_in_ms (SPARE_MS), rank->away) : rank->away;
}

/* The loss of one that has ended with 0 shows when it is needed. */
static void _print_overdue (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    bool gathers = false, places = false;
    char names[1024], name[RANK_NAME_SIZE];
    struct list_text list = { names, sizeof (names), ", ", RANK_NAMES_MOST, 0, 0 };

    for (int i = 0; i < s->roster->tasks; i++) {
        const struct rank *rank = &s->roster->rank[i];
        bool member = restarts_gathers (s->restarts, rank);

        if (!_is_overdue (s, rank) || (rank_has_ended (rank) && !member))
            continue;
        gathers = gathers || member;
        places = places || rank->kind != RULES_SPARE;
        list_text_add (&list, rank_name (s->roster, rank, name, sizeof (name)));
    }
    if (list.named)
        console_say ("error: spank_tf: %s: these tasks count as ended, because the connections to "
                     "their supervisors are lost: %s%s%s",
                     step_name (server->step), list_text_end (&list), places ? spares_why_not (server) : "",
                     gathers ? "; the restart of all tasks is given up" : "");
}

void absence_check (struct server *server)
{
    static const struct exit_report killed = { .kind = EXIT_REPORT_SIGNAL, .number = SIGKILL };
    struct shutdown *s = server->shutdown;
    const struct rank **lost;
    int count = 0;

    if (!deadline_passed (s->next_lost))
        return;
    spares_replace (server);
    lost = calloc ((size_t)s->roster->tasks, sizeof (*lost));
    _print_overdue (server);
    s->next_lost = deadline_never ();
    for (int i = 0; i < s->roster->tasks; i++) {
        struct rank *rank = &s->roster->rank[i];

        if (_is_overdue (s, rank)) {
            restart_policy_cannot (restarts_policy (s->restarts), rank);
            job_ended (server, rank, rank_has_ended (rank) ? RANK_ENDED : RANK_LOST, &killed);
            if (lost && rank->state == RANK_LOST)
                lost[count++] = rank;
        } else if (rank_is_supervised (rank))
            s->next_lost = deadline_min (s->next_lost, _next (server, rank));
    }
    events_lost (server->step, lost, count, restart_policy_left (restarts_policy (s->restarts)));
    free (lost);
}

void absence_of_srun (struct server *server)
{
    struct shutdown *s = server->shutdown;

    if (!s || s->end_shown)
        return;
    for (int i = 0; i < s->roster->tasks; i++) {
        struct rank *rank = &s->roster->rank[i];

        if (rank->state != RANK_RUNS)
            continue;
        if (!deadline_is_set (rank->away))
            ends_note (&rank->end, s->launched, 0, &nothing, 0);
        rank->state = RANK_LOST;
        /* It has not failed, as far as is known. */
        rank->end.report = (struct exit_report){ .kind = EXIT_REPORT_STOPPED };
    }
    events_end (server->step, restart_policy_left (restarts_policy (s->restarts)));
}
