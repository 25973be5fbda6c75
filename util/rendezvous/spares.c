/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "spares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "absence.h"
#include "common/list_text.h"
#include "common/silence.h"
#include "console.h"
#include "events.h"
#include "job.h"
#include "rank_names.h"

/* A task that fails so often in a row, so soon after its start, has perhaps a bad node. */
#define MOST_FAILURES 3
#define SOON_MS 60000

bool spares_are_used (const struct server *server)
{
    return server->shutdown->replaced > 0;
}

/* Which spare. */

static bool _is_silent (const struct server *server, const struct rank *rank)
{
    return deadline_is_set (rank->away)
           || (rank->peer
               && silence_ms (rank->peer->fd) > 2000 * silence_interval (server->config.lost_after) + 1000);
}

static bool _shares_node (const struct rank *one, const struct rank *other)
{
    return strcmp (one->node, other->node) == 0;
}

/* A task of its node is silent, or the node has just been lost. */
static bool _has_silent_node (const struct server *server, const struct rank *spare)
{
    const struct roster *roster = server->shutdown->roster;

    for (int i = 0; i < roster->tasks; i++)
        if (_shares_node (&roster->rank[i], spare) && rank_is_supervised (&roster->rank[i])
            && _is_silent (server, &roster->rank[i]))
            return true;
    return false;
}

static bool _is_connected (const struct rank *rank)
{
    return rank->state == RANK_SPARE && rank->peer && rank->peer->state == PEER_SUPERVISED;
}

static bool _is_free (const struct server *server, const struct rank *rank)
{
    return _is_connected (rank) && !_has_silent_node (server, rank);
}

bool spares_are_silent (const struct server *server)
{
    const struct roster *roster = server->shutdown->roster;

    for (int i = 0; i < roster->tasks; i++)
        if (_is_connected (&roster->rank[i]) && _has_silent_node (server, &roster->rank[i]))
            return true;
    return false;
}

/* The tasks of a lost node stay together if they can, and a node that has nothing else to do comes first. */
static int _suitability (const struct roster *roster, const struct rank *lost, const struct rank *spare)
{
    bool together = false, idle = true;

    for (int i = 0; i < roster->tasks; i++) {
        const struct rank *rank = &roster->rank[i];

        if (!_shares_node (rank, spare))
            continue;
        together = together || (rank->replaces && _shares_node (rank->replaces, lost));
        idle = idle && rank->kind == RULES_SPARE;
    }
    return 4 * (spare->component_first == lost->component_first) + 2 * together + idle;
}

static struct rank *_choose (const struct server *server, const struct rank *lost)
{
    const struct roster *roster = server->shutdown->roster;
    struct rank *best = NULL;

    for (int i = 0; i < roster->tasks; i++) {
        struct rank *spare = &roster->rank[i];

        if (_is_free (server, spare) && !_shares_node (spare, lost)
            && step_has_room (server->step, lost, spare)
            && (!best || _suitability (roster, lost, spare) > _suitability (roster, lost, best)))
            best = spare;
    }
    return best;
}

/* Its place. */

static bool _can_replace (const struct server *server, const struct rank *rank, bool counted)
{
    const struct shutdown *s = server->shutdown;
    const struct restart_policy *policy = restarts_policy (s->restarts);

    return rank->kind != RULES_SPARE
           && stop_policy_cause (s->policy) == STOP_POLICY_NOT_OVER
           /* One that has ended with 0 is needed only if all are restarted. */
           && rank->state != RANK_KEPT
           && restart_policy_can_replace (policy, rank, counted || restarts_are_gathering (s->restarts));
}

const char *spares_why_not (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    const struct restart_policy *policy = restarts_policy (s->restarts);
    bool free = false;

    if (server->config.lost_after == 0 || stop_policy_cause (s->policy) != STOP_POLICY_NOT_OVER)
        return "";
    for (int i = 0; i < s->roster->tasks; i++)
        free = free || _is_free (server, &s->roster->rank[i]);
    if (!free)
        return "; no spare is free";
    return restart_policy_left (policy) == 0 ? "; no restart is left for a spare" : "";
}

static void _replace (struct server *server, struct rank *lost, struct rank *spare, bool counted)
{
    struct shutdown *s = server->shutdown;

    restarts_replace (s->restarts, lost, spare, counted);
    job_replaced (s, lost, spare);
    spare->end.at = lost->end.at;
    spare->end.elapsed_ms = lost->end.elapsed_ms;
    s->replaced++;
    s->replaced_sign = deadline_min (s->replaced_sign, lost->last_sign);
}

/* Answers that are on their way are in the dictionary that is going to be freed. */
static void _cut_answers (struct server *server)
{
    const struct roster *roster = server->shutdown->roster;

    for (int i = 0; i < roster->tasks; i++) {
        struct rank *rank = &roster->rank[i];

        if (!rank->peer || !peer_is_sending (rank->peer))
            continue;
        absence_begin (server, rank, ABSENCE_BROKEN_MS);
        peer_close (&server->peers, rank->peer);
    }
}

/* Lines. */

static int _seconds_since (struct deadline time)
{
    return (int)((deadline_in_ms (0).at_ms - time.at_ms + 500) / 1000);
}

/* The same for programs. `report` is NULL if they are lost. */
static void _tell (const struct server *server, struct rank *const *lost, int count,
                   const struct exit_report *report)
{
    const struct restart_policy *policy = restarts_policy (server->shutdown->restarts);
    size_t size = sizeof (struct show_json_restart) + (size_t)count * sizeof (struct show_json_failed);
    struct show_json_restart *restart = calloc (1, size);

    if (!restart)
        return;
    restart->all = true;
    restart->pause = restart_policy_pause (policy);
    restart->left = restart_policy_left (policy);
    restart->count = count;
    for (int i = 0; i < count; i++) {
        restart->failed[i].rank = lost[i];
        restart->failed[i].report = report;
    }
    events_restart (server->step, restart);
    free (restart);
}

/* `because`: "lost for 71 s". `joined`: all were to be restarted already. */
static void _print (const struct server *server, struct rank *const *lost, int count, const char *because,
                    bool joined)
{
    const struct shutdown *s = server->shutdown;
    const struct restart_policy *policy = restarts_policy (s->restarts);
    char names[1024], name[RANK_NAME_SIZE], then[96];
    struct list_text list = { names, sizeof (names), ", ", RANK_NAMES_MOST, 0, 0 };

    for (int i = 0; i < count; i++) {
        const struct rank *spare = lost[i]->replaced_by;

        snprintf (name, sizeof (name), "%s %d (rank %d on %s) is now rank %d on %s", lost[i]->role,
                  lost[i]->index, lost[i]->number, lost[i]->node, spare->number, spare->node);
        list_text_add (&list, name);
    }
    snprintf (then, sizeof (then), "all tasks are stopped, and restarted after %d s",
              restart_policy_pause (policy));
    console_say ("spank_tf: %s: %s, and replaced: %s; %s (restarts left: %d)", step_name (server->step),
                 because, list_text_end (&list), joined ? "it is restarted with the others" : then,
                 restart_policy_left (policy));
}

void spares_begin (struct server *server)
{
    struct shutdown *s = server->shutdown;

    if (!deadline_is_set (s->replaced_sign) || restarts_are_gathering (s->restarts))
        return;
    console_say ("spank_tf: %s: all tasks begin again, %d s after the last sign of what was lost",
                 step_name (server->step), _seconds_since (s->replaced_sign));
    s->replaced_sign = deadline_never ();
}

/* They have got their places. */
static void _change (struct server *server, struct rank *const *lost)
{
    struct errtext err;

    _cut_answers (server);
    if (step_change (server->step, &err) == 0)
        return;
    /* The restart of all is given up. */
    console_say ("error: spank_tf: %s", err.text);
    restart_policy_cannot (restarts_policy (server->shutdown->restarts), lost[0]->replaced_by);
}

void spares_replace (struct server *server)
{
    struct shutdown *s = server->shutdown;
    bool joined = restarts_are_gathering (s->restarts);
    struct rank **lost;
    char because[32];
    int count = 0;

    if (server->config.lost_after == 0 || !(lost = calloc ((size_t)s->roster->tasks, sizeof (*lost))))
        return;
    for (int i = 0; i < s->roster->tasks; i++) {
        struct rank *rank = &s->roster->rank[i], *spare = NULL;

        if (rank_is_supervised (rank) && deadline_passed (rank->given_up)
            && _can_replace (server, rank, false))
            spare = _choose (server, rank);
        if (!spare)
            continue;
        _replace (server, rank, spare, false);
        lost[count++] = rank;
    }
    if (count > 0) {
        snprintf (because, sizeof (because), "lost for %d s", _seconds_since (lost[0]->last_sign));
        _print (server, lost, count, because, joined);
        _tell (server, lost, count, NULL);
        _change (server, lost);
    }
    free (lost);
}

bool spares_move (struct server *server, struct rank *rank, const struct exit_report *report,
                  const char *because, bool counted)
{
    bool joined = restarts_are_gathering (server->shutdown->restarts);
    struct rank *spare;

    if (server->config.lost_after == 0 || !_can_replace (server, rank, counted)
        || !(spare = _choose (server, rank)))
        return false;
    _replace (server, rank, spare, counted);
    rank->end.report = *report;
    _print (server, &rank, 1, because, joined);
    _tell (server, &rank, 1, report);
    _change (server, &rank);
    return true;
}

bool spares_note_failure (struct server *server, const struct rank *rank)
{
    struct shutdown *s = server->shutdown;
    struct deadline began = deadline_max (rank->life.began, s->launched);
    bool soon = deadline_in_ms (-rank->life.ago_ms).at_ms - began.at_ms < SOON_MS;

    /* Another node is not worth the restart of those that train. */
    if (rank->beside || rank->kind == RULES_EVALUATOR)
        return false;
    s->failures = !soon ? 0 : s->failing == rank ? s->failures + 1 : 1;
    s->failing = rank;
    return s->failures >= MOST_FAILURES;
}
