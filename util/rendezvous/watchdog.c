/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "watchdog.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/list_text.h"
#include "console.h"
#include "ends.h"
#include "events.h"
#include "job.h"
#include "rank_names.h"
#include "server.h"
#include "shutdown.h"
#include "supervisors.h"

/*
 * Supervisors answer within milliseconds. One that was stopped, with its job, answers later: then ask all
 * again.
 */
#define PATIENCE_MS 5000
/*
 * Signs at nearly the same time do not tell whose was the last one. The number of messages does, and, if
 * that is the same, that one of them computes: the others wait for it.
 */
#define SAME_MS 1000

bool watchdog_watches (const struct rank *rank)
{
    return !rank->beside && (rules_is_chief (rank->kind) || rank->kind == RULES_WORKER);
}

bool watchdog_is_hung (const struct rank *rank)
{
    return rank->state == RANK_RUNS && rank->watch.hung == rank->life.number + 1;
}

/* What others wait for: an evaluator, or an auxiliary task, is not. */
static bool _is_member (const struct rank *rank)
{
    return watchdog_watches (rank) || rank->kind == RULES_PS;
}

/* Nothing may be sent into the middle of a new answer. */
static bool _is_reachable (const struct rank *rank)
{
    return rank->state == RANK_RUNS && rank->peer && rank->peer->state == PEER_SUPERVISED
           && !peer_is_sending (rank->peer);
}

/* What is known is of the life that runs. */
static bool _is_known (const struct rank *rank)
{
    const struct watch_standing *w = &rank->watch;

    return w->told && !w->asked && w->signs.life == rank->life.number;
}

static enum signs_source _source (const struct rank *rank)
{
    return _is_known (rank) ? rank->watch.signs.source : SIGNS_UNKNOWN;
}

static bool _is_overdue (const struct rank *rank, enum signs_source source)
{
    return _is_reachable (rank) && _source (rank) == source && rank->watch.signs.overdue;
}

/* Does the step hang, by what is known? One verdict is enough until the lives that hang have ended. */
static bool _hangs (const struct shutdown *s)
{
    const struct roster *roster = s->roster;
    bool message = false, log = false, moves = !deadline_passed (s->watchdog.settled);

    for (int i = 0; i < roster->tasks; i++) {
        const struct rank *rank = &roster->rank[i];
        enum signs_source source = _source (rank);

        if (watchdog_is_hung (rank))
            return false;
        if (!watchdog_watches (rank) || rank->state != RANK_RUNS)
            continue;
        message = message || _is_overdue (rank, SIGNS_MESSAGES);
        log = log || _is_overdue (rank, SIGNS_LOG);
        moves = moves || (source != SIGNS_NONE && source != SIGNS_DONE && !_is_overdue (rank, source));
    }
    return message || (log && !moves);
}

/* The verdict. */

struct hang {
    struct rank *first;         /* to be silent */
    int others, moving;         /* so many more are silent, or move */
    int64_t since_ms;           /* of the others, CLOCK_MONOTONIC */
};

/* It has given signs, or could have. */
static bool _has_signs (const struct rank *rank)
{
    return _source (rank) == SIGNS_LOG || _source (rank) == SIGNS_MESSAGES;
}

/*
 * It does not move: it is silent for half of the time at least, or stopped; or nothing is known of it, and
 * it does not only serve. One that gives signs moves, even if one of its processes is stopped.
 */
static bool _is_silent (const struct rank *rank, int seconds)
{
    const struct signs *signs = &rank->watch.signs;

    if (!_is_reachable (rank) || !_is_known (rank))
        return false;
    if (_has_signs (rank) && signs->silent_ms < seconds * INT64_C (500))
        return false;
    return signs->stopped
           || (watchdog_watches (rank)
               && (_has_signs (rank) || (signs->source == SIGNS_NONE && !rank->serves)));
}

/* When it gave its last sign. */
static int64_t _sign_ms (const struct rank *rank)
{
    return rank->watch.told_at.at_ms - rank->watch.signs.ago_ms;
}

static int64_t _first_sign_ms (const struct roster *roster)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < roster->tasks; i++) {
        const struct rank *rank = &roster->rank[i];

        if (watchdog_is_hung (rank) && _has_signs (rank) && _sign_ms (rank) < first)
            first = _sign_ms (rank);
    }
    return first;
}

/* Was one silent before the other? `first` is the first sign of all that are silent. */
static bool _is_before (const struct rank *one, const struct rank *other, int64_t first)
{
    const struct signs *a = &one->watch.signs, *b = &other->watch.signs;

    if (a->stopped != b->stopped)
        return a->stopped;
    if (!_has_signs (one) || !_has_signs (other))
        return _has_signs (one) && !_has_signs (other);
    if (_sign_ms (one) - first < SAME_MS && _sign_ms (other) - first < SAME_MS) {
        if (a->messages != b->messages)
            return a->messages < b->messages;
        if (a->busy != b->busy)
            return a->busy;
    }
    return _sign_ms (one) < _sign_ms (other);
}

static struct hang _find (const struct roster *roster)
{
    struct hang hang = { .since_ms = INT64_MAX };
    int64_t first = _first_sign_ms (roster);

    for (int i = 0; i < roster->tasks; i++) {
        struct rank *rank = &roster->rank[i];

        if (watchdog_is_hung (rank) && (!hang.first || _is_before (rank, hang.first, first)))
            hang.first = rank;
    }
    for (int i = 0; i < roster->tasks; i++) {
        const struct rank *rank = &roster->rank[i];

        if (rank == hang.first || rank->state != RANK_RUNS || !_has_signs (rank))
            continue;
        if (!watchdog_is_hung (rank))
            hang.moving++;
        else {
            hang.others++;
            if (_sign_ms (rank) < hang.since_ms)
                hang.since_ms = _sign_ms (rank);
        }
    }
    return hang;
}

/* The time of day of a moment of CLOCK_MONOTONIC. */
static struct timespec _time (int64_t at_ms)
{
    struct timespec now;
    int64_t ms;

    clock_gettime (CLOCK_REALTIME, &now);
    ms = now.tv_sec * INT64_C (1000) + now.tv_nsec / 1000000 - deadline_ago_ms ((struct deadline){ at_ms });
    return (struct timespec){ .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };
}

static const char *_clock (const struct timespec *at, char *buf, size_t size)
{
    struct tm tm;

    if (!localtime_r (&at->tv_sec, &tm) || strftime (buf, size, "%H:%M:%S", &tm) == 0)
        snprintf (buf, size, "?");
    return buf;
}

/* No other one has failed before the first. One without signs is silent as long as that. */
static void _set_since (const struct roster *roster, const struct hang *hang)
{
    int64_t first = _has_signs (hang->first) ? _sign_ms (hang->first) : _first_sign_ms (roster);

    for (int i = 0; i < roster->tasks; i++) {
        struct rank *rank = &roster->rank[i];
        int64_t at = _has_signs (rank) ? _sign_ms (rank) : first;

        if (watchdog_is_hung (rank))
            rank->watch.since = _time (rank == hang->first ? first : at > first ? at : first + 1);
    }
}

/*
 * A task that had failed before is what they wait for: then they have failed after it. Not so if one is
 * stopped by a signal: the others may have failed because of that.
 */
static void _set_after_failure (const struct roster *roster, const struct hang *hang)
{
    const struct timespec *failed = NULL;

    for (int i = 0; i < roster->tasks; i++) {
        const struct rank *rank = &roster->rank[i];

        if (_is_member (rank) && rank_has_ended (rank) && !rank->replaced_by
            && exit_report_failed (&rank->end.report) && (!failed || ends_is_before (&rank->end.at, failed)))
            failed = &rank->end.at;
    }
    for (int i = 0; i < roster->tasks && failed && !hang->first->watch.signs.stopped; i++) {
        struct rank *rank = &roster->rank[i];

        if (watchdog_is_hung (rank) && !ends_is_before (failed, &rank->watch.since))
            rank->watch.since = (struct timespec){ .tv_sec = failed->tv_sec + 1 };
    }
}

/* What is known of the first one: "stopped by a signal, since 14:02:11, "step 1200"" */
static void _describe (char *buf, size_t size, const struct rank *rank)
{
    const struct signs *signs = &rank->watch.signs;
    struct list_text list = { buf, size, ", ", 0, 0, 0 };
    char part[SIGNS_MAX_STATUS + 8], at[16];

    if (signs->stopped)
        list_text_add (&list, "stopped by a signal");
    if (_has_signs (rank)) {
        snprintf (part, sizeof (part), "since %s", _clock (&rank->watch.since, at, sizeof (at)));
        list_text_add (&list, part);
    }
    if (signs->status[0]) {
        snprintf (part, sizeof (part), "\"%s\"", signs->status);
        list_text_add (&list, part);
    }
    list_text_end (&list);
}

static int _seconds (const struct roster *roster)
{
    int ms = 0;

    for (int i = 0; i < roster->tasks; i++) {
        const struct rank *rank = &roster->rank[i];

        if (watchdog_is_hung (rank) && _has_signs (rank) && rank->watch.signs.silent_ms > ms)
            ms = rank->watch.signs.silent_ms;
    }
    return ms / 1000;
}

static void _say (const struct server *server, const struct hang *hang, bool restarts)
{
    const struct roster *roster = server->shutdown->roster;
    char name[RANK_NAME_SIZE], detail[256], others[96] = "", moving[64] = "", at[16];
    struct timespec since;

    _describe (detail, sizeof (detail), hang->first);
    if (hang->others) {
        since = _time (hang->since_ms);
        snprintf (others, sizeof (others), "; %d other%s since %s", hang->others,
                  hang->others == 1 ? "" : "s", _clock (&since, at, sizeof (at)));
    }
    if (hang->moving)
        snprintf (moving, sizeof (moving), "; %d other%s", hang->moving,
                  hang->moving == 1 ? " moves" : "s move");
    console_say ("%sspank_tf: %s: no sign of life for %d s: %s (%s)%s%s",
                 restarts ? "" : "error: ", step_name (server->step), _seconds (roster),
                 rank_name (roster, hang->first, name, sizeof (name)), detail, others, moving);
}

/* The same for programs. */
static void _tell_programs (const struct server *server, const struct hang *hang)
{
    const struct roster *roster = server->shutdown->roster;
    struct show_json_hang *shown;

    if (!(shown = calloc (1, sizeof (*shown) + (size_t)roster->tasks * sizeof (shown->rank[0]))))
        return;
    shown->seconds = _seconds (roster);
    shown->left = restart_policy_left (restarts_policy (server->shutdown->restarts));
    shown->rank[shown->count++] = hang->first;
    for (int i = 0; i < roster->tasks; i++)
        if (&roster->rank[i] != hang->first && watchdog_is_hung (&roster->rank[i]))
            shown->rank[shown->count++] = &roster->rank[i];
    events_hang (server->step, shown);
    free (shown);
}

/* The first one has failed by that, although it has not ended yet. */
static void _decide (struct server *server)
{
    static const struct exit_report report = { .kind = EXIT_REPORT_HUNG };
    struct shutdown *s = server->shutdown;
    enum restart_policy_decision decision;
    struct hang hang;

    for (int i = 0; i < s->roster->tasks; i++) {
        struct rank *rank = &s->roster->rank[i];

        if (_is_member (rank) && _is_silent (rank, server->config.watch.seconds)) {
            rank->watch.hung = rank->life.number + 1;
            rank->ordered = false;
        }
    }
    hang = _find (s->roster);
    if (!hang.first)
        return;
    _set_since (s->roster, &hang);
    decision = restarts_hang (s->restarts, hang.first);
    _say (server, &hang, decision == RESTART_POLICY_ALL || decision == RESTART_POLICY_ONE);
    _tell_programs (server, &hang);
    _set_after_failure (s->roster, &hang);
    hang.first->end.report = report;
    if (decision != RESTART_POLICY_ONE && server->config.restart.times > 0)
        restart_lines_add (s->lines, hang.first, &report, decision, NULL);
    if (decision != RESTART_POLICY_ONE && decision != RESTART_POLICY_ALL)
        job_hangs (server, hang.first);
}

/* Questions. */

static void _ask (struct server *server)
{
    struct shutdown *s = server->shutdown;

    s->watchdog.asks = true;
    s->watchdog.patience = deadline_in_ms (PATIENCE_MS);
    for (int i = 0; i < s->roster->tasks; i++) {
        struct rank *rank = &s->roster->rank[i];

        rank->watch.asked = _is_member (rank) && _is_reachable (rank);
        if (rank->watch.asked)
            supervisors_order (server, rank, ORDER_TELL);
    }
}

static bool _awaits_answers (const struct shutdown *s)
{
    if (deadline_passed (s->watchdog.patience))
        return false;
    for (int i = 0; i < s->roster->tasks; i++)
        if (s->roster->rank[i].watch.asked && _is_reachable (&s->roster->rank[i]))
            return true;
    return false;
}

/* What a supervisor that does not answer has told before counts no more, until it tells again. */
static void _forget_unanswered (const struct shutdown *s)
{
    for (int i = 0; i < s->roster->tasks; i++) {
        struct watch_standing *w = &s->roster->rank[i].watch;

        w->told = w->told && !w->asked;
        w->asked = false;
    }
}

/* Once. The programs do not know of the watchdog. */
static void _say_that_none_is_watched (struct server *server)
{
    struct shutdown *s = server->shutdown;
    int watched = 0;

    if (s->watchdog.said)
        return;
    for (int i = 0; i < s->roster->tasks; i++) {
        const struct rank *rank = &s->roster->rank[i];

        enum signs_source source = _source (rank);

        /* One that has ended may have given signs: others that only serve are not watched then. */
        if (!watchdog_watches (rank) || (rank_has_ended (rank) && source == SIGNS_UNKNOWN))
            continue;
        if (source != SIGNS_NONE)
            return;
        watched += !rank_has_ended (rank);
    }
    if (watched == 0)
        return;
    s->watchdog.said = true;
    console_say ("spank_tf: %s: --tf-watchdog: no task has sent a sign of life within %d s, or has a log "
                 "that grows; none is watched until it sends one",
                 step_name (server->step), server->config.watch.first);
}

void watchdog_take (struct server *server, struct rank *rank, const struct signs *signs)
{
    if (server->config.watch.seconds == 0)
        return;
    rank->watch.signs = *signs;
    rank->watch.told = true;
    rank->watch.told_at = deadline_in_ms (0);
    rank->watch.asked = false;
}

void watchdog_check (struct server *server)
{
    struct shutdown *s = server->shutdown;

    if (server->config.watch.seconds == 0)
        return;
    if (s->watchdog.asks) {
        if (_awaits_answers (s))
            return;
        s->watchdog.asks = false;
        _forget_unanswered (s);
        if (_hangs (s))
            _decide (server);
        return;
    }
    if (_hangs (s))
        _ask (server);
    else
        _say_that_none_is_watched (server);
}

struct deadline watchdog_next (const struct server *server)
{
    const struct watchdog *w = &server->shutdown->watchdog;

    if (w->asks)
        return w->patience;
    return deadline_passed (w->settled) ? deadline_never () : w->settled;
}

/* Tasks end at nearly the same time; one that printed the losses may do so before one that did not. */
void watchdog_note_end (struct server *server, struct rank *rank, const struct exit_report *report)
{
    if (watchdog_watches (rank))
        server->shutdown->watchdog.settled = deadline_in_ms (server->config.watch.seconds * INT64_C (1000));
    if (report->kind == EXIT_REPORT_HUNG && rank->watch.hung == rank->life.number + 1)
        rank->end.at = rank->watch.since;
}
