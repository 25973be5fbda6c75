/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "shutdown.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/beside.h"
#include "common/list_text.h"
#include "console.h"
#include "ends.h"
#include "protocol/exit_report.h"
#include "protocol/order.h"
#include "protocol/reconnect.h"
#include "rank_names.h"
#include "restart_lines.h"
#include "restarts.h"
#include "show_json.h"
#include "stop_policy.h"

/* A supervisor that closes its connection and goes on reconnects within a second (uplink.c). */
#define CLOSED_LOST_MS 10000
/*
 * A process that is killed with data that it has not read sends a reset. So does a host on the way,
 * or one that has restarted: then the network works, and a supervisor notices within 30 s
 * (tcp_keep_alive ()) and connects again.
 */
#define RESET_LOST_MS 60000
/*
 * One whose connection the network broke may take 100 s to notice that, to wait, and to connect
 * (uplink.c), and the network may be down for longer. Slurm gives up a node after SlurmdTimeout,
 * which is 300 s by default: before that a training that the outage itself did not end goes on.
 */
#define BROKEN_LOST_MS 300000

/* One rank's connection. */
struct link {
    struct deadline lost;               /* when a rank without a connection counts as ended */
    bool ordered;                       /* to stop, on the connection that it has now */
};

struct shutdown {
    struct stop_policy *policy;
    struct restarts *restarts;          /* NULL: none */
    struct restart_lines *lines;        /* NULL without restarts */
    int tasks, left;                    /* those that have not ended */
    struct deadline launched;           /* when the tasks got their answers */
    struct end *end;                    /* by rank */
    struct link *link;                  /* by rank */
    struct deadline next_lost;          /* not later than the first of link[].lost */
    struct deadline grace_over;         /* of evaluators; never before the job is over */
    struct deadline failure_over;       /* fail_grace; never if no task has failed without a ps */
    bool end_shown;
};

/* -1 if there is no memory. */
static int _create_policies (struct shutdown *s, struct step *step,
                             const struct rendezvous_config *c, const char *const *role)
{
    if (!(s->policy = stop_policy_create (c->stop, role, s->tasks)))
        return -1;
    if (c->restart.times == 0)
        return 0;
    s->restarts = restarts_create (&c->restart, c->stop_grace, !c->wait_limited, role, s->tasks);
    if (s->restarts)
        s->lines = restart_lines_create (step, s->restarts, c->stop_grace, s->tasks);
    return s->lines ? 0 : -1;
}

/* -1 if there is no memory. */
static int _create_ranks (struct shutdown *s)
{
    s->end = calloc ((size_t)s->tasks, sizeof (*s->end));
    s->link = calloc ((size_t)s->tasks, sizeof (*s->link));
    for (int rank = 0; s->link && rank < s->tasks; rank++)
        s->link[rank].lost = deadline_never ();
    return s->end && s->link ? 0 : -1;
}

static struct shutdown *_create (struct step *step, const struct rendezvous_config *config)
{
    const struct roster *roster = step_roster (step);
    struct shutdown *s = calloc (1, sizeof (*s));
    const char **role = calloc ((size_t)roster->tasks, sizeof (*role));
    int rc = -1;

    if (s && role) {
        s->tasks = s->left = roster->tasks;
        s->launched = deadline_in_ms (0);
        s->next_lost = s->grace_over = s->failure_over = deadline_never ();
        for (int rank = 0; rank < roster->tasks; rank++)
            role[rank] = roster->rank[rank].role;
        rc = _create_ranks (s) < 0 ? -1 : _create_policies (s, step, config, role);
    }
    free (role);
    if (rc == 0)
        return s;
    shutdown_destroy (s);
    return NULL;
}

void shutdown_destroy (struct shutdown *s)
{
    if (!s)
        return;
    stop_policy_destroy (s->policy);
    restart_lines_destroy (s->lines);
    restarts_destroy (s->restarts);
    for (int rank = 0; s->end && rank < s->tasks; rank++)
        free (s->end[rank].failure);
    free (s->end);
    free (s->link);
    free (s);
}

/* Without supervisors the step would not be what the user has asked for. */
static bool _needs_supervisors (const struct server *server, const struct stop_policy *policy)
{
    return stop_policy_supervises (policy) || server->config.show || step_log_dir (server->step)
           || server->config.restart.times > 0;
}

/*
 * A step of several tasks has supervisors also to learn which one failed first, unless the user wants
 * none to be stopped. A parallel debugger stops and shows slurmstepd's children, which have to be the
 * programs.
 */
static bool _supervises (const struct server *server, bool needed)
{
    bool wanted = needed || (step_roster (server->step)->tasks > 1
                             && server->config.stop != STOP_WHEN_NEVER);

    if (needed && server->config.debugged)
        console_say ("spank_tf: %s: under a parallel debugger no task is stopped when the work is "
                     "done%s, and the ends of tasks are not shown%s", step_name (server->step),
                     server->config.restart.times > 0 ? ", or restarted" : "",
                     server->config.tee ? "; srun does not get their output" : "");
    return wanted && !server->config.debugged;
}

/* What its supervisor has to know. */
static void _tell_member (const struct shutdown *s, int rank, struct rank *member)
{
    member->serves = stop_policy_serves (s->policy, rank);
}

int shutdown_begin (struct server *server, struct errtext *err)
{
    struct shutdown *s = _create (server->step, &server->config);
    bool needed, supervises;
    int rc = 0;

    if (!s)
        return errtext_set (err, "%s", strerror (ENOMEM));
    needed = _needs_supervisors (server, s->policy);
    supervises = _supervises (server, needed);
    /* A node without tf-supervise refuses no step that can do without it. */
    if (supervises && step_supervise (server->step, needed ? err : NULL) < 0) {
        supervises = false;
        rc = needed ? -1 : 0;
    }
    if (!supervises) {
        shutdown_destroy (s);
        return rc;
    }
    server->shutdown = s;
    for (int rank = 0; rank < s->tasks; rank++)
        _tell_member (s, rank, &step_roster (server->step)->rank[rank]);
    return 0;
}

/* Messages. */

/* SIGTERM probably came from the user, and is about to end the other tasks too. */
static void _print_ps_failure (const struct server *server, int rank,
                               const struct exit_report *report)
{
    struct exit_report_text how;
    char name[RANK_NAME_SIZE];

    rank_name (step_roster (server->step), &step_roster (server->step)->rank[rank], name, sizeof (name));
    exit_report_describe (report, &how);
    if (server->shutdown->end[rank].presumed)
        console_say ("error: spank_tf: %s: without %s its workers would wait forever and are "
                     "stopped", step_name (server->step), name);
    else if (report->kind == EXIT_REPORT_SIGNAL && report->number == SIGTERM)
        console_say ("spank_tf: %s: %s has ended, %s; the others are stopped",
                     step_name (server->step), name, how.text);
    else
        console_say ("error: spank_tf: %s: %s failed, %s; its workers would wait for it forever "
                     "and are stopped", step_name (server->step), name, how.text);
}

/* A cluster without a ps has lost a task. */
static void _print_task_failure (const struct server *server, int rank, const struct exit_report *report)
{
    char name[RANK_NAME_SIZE], others[64] = "are stopped";
    struct exit_report_text how;
    int grace = server->config.fail_grace;

    if (grace > 0)
        snprintf (others, sizeof (others), "have %d s to end, and are then stopped", grace);
    rank_name (step_roster (server->step), &step_roster (server->step)->rank[rank], name, sizeof (name));
    console_say ("error: spank_tf: %s: %s failed, %s; the others %s", step_name (server->step), name,
                 exit_report_describe (report, &how), others);
}

/* The job does not need this rank any more. */
static bool _is_done_with (const struct shutdown *s, int rank)
{
    int first;

    switch (stop_policy_order (s->policy, rank)) {
        case STOP_POLICY_LEAVE:
            return false;
        case STOP_POLICY_STOP:
            return true;
        case STOP_POLICY_STOP_AFTER_GRACE:
            return deadline_passed (s->grace_over);
        case STOP_POLICY_STOP_AFTER_FAILURE:
            return deadline_passed (s->failure_over);
        case STOP_POLICY_STOP_LAST:
            return deadline_passed (s->grace_over)
                   && (stop_policy_cause (s->policy, &first) != STOP_POLICY_TASK_FAILED
                       || deadline_passed (s->failure_over));
    }
    return false;
}

/*
 * An auxiliary task has failed, which ends no other task, but they may need it. The end of a
 * lost one has been printed, and SIGTERM is probably about to end all of them.
 */
static void _print_beside_failure (const struct server *server, int rank,
                                   const struct exit_report *report)
{
    const struct roster *roster = step_roster (server->step);
    struct exit_report_text how;
    char name[RANK_NAME_SIZE];

    if (!beside_is (roster->rank[rank].role) || !exit_report_failed (report)
        || _is_done_with (server->shutdown, rank)
        || server->shutdown->end[rank].presumed || ends_was_asked (&server->shutdown->end[rank])
        || (report->kind == EXIT_REPORT_SIGNAL && report->number == SIGTERM))
        return;
    restart_lines_flush (server->shutdown->lines);
    console_say ("error: spank_tf: %s: %s failed, %s; spank_tf stops no other task", step_name (server->step),
                 rank_name (roster, &roster->rank[rank], name, sizeof (name)),
                 exit_report_describe (report, &how));
}

/* False also if it has failed, and its pause would be too long for it to be restarted. */
static bool _has_grace (const struct shutdown *s, int rank)
{
    return stop_policy_order (s->policy, rank) == STOP_POLICY_STOP_AFTER_GRACE
           && !(s->restarts && restarts_waits (s->restarts, rank)
                && !restart_policy_is_possible (restarts_policy (s->restarts), rank));
}

/* The ranks that get time to finish after the job's end. */
static void _print_grace (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    char names[RANK_NAME_SIZE + 64], name[RANK_NAME_SIZE];
    struct list_text list = { names, sizeof (names), ", ", 1, 0, 0 };

    for (int rank = 0; rank < s->tasks; rank++)
        if (_has_grace (s, rank))
            list_text_add (&list, rank_name (step_roster (server->step), &step_roster (server->step)->rank[rank], name,
                                             sizeof (name)));
    if (list.named && server->config.eval_grace > 0)
        console_say ("spank_tf: %s: the training is over; waiting up to %d s for %s",
                     step_name (server->step), server->config.eval_grace, list_text_end (&list));
}

/* Once, when all tasks have ended. The line about the first failure, and the JSON, say where the logs are, too. */
static void _show_end (const struct server *server)
{
    struct shutdown *s = server->shutdown;
    const struct roster *roster = step_roster (server->step);
    const char *step = step_name (server->step), *failure = NULL;
    int restarts = server->config.restart.times;
    bool cancelled = ends_are_cancelled (roster, s->end);
    char text[ENDS_FAILURE_SIZE];

    if (s->end_shown || s->left > 0)
        return;
    s->end_shown = true;
    restart_lines_flush (s->lines);
    if (server->config.json)
        console_table (show_json_end (roster, s->end, restarts), server->config.show);
    else if (!cancelled)
        console_table (ends_table (step, roster, s->end), server->config.show);
    if (cancelled)
        console_say ("spank_tf: %s was cancelled", step);
    else if ((failure = ends_first_failure (roster, s->end, text, sizeof (text))))
        console_say ("error: spank_tf: %s: first to fail: %s", step, failure);
    if (!server->config.json && ends_log_dirs (roster, text, sizeof (text)) > (failure ? 1 : 0))
        console_say ("spank_tf: %s: logs are in %s", step, text);
}

/* Ends. */

static void _job_is_over (const struct server *server)
{
    struct shutdown *s = server->shutdown;
    int rank;

    restart_lines_flush (s->lines);
    switch (stop_policy_cause (s->policy, &rank)) {
        case STOP_POLICY_PS_FAILED:
            if (!ends_was_asked (&s->end[rank]))
                _print_ps_failure (server, rank, &s->end[rank].report);
            break;
        case STOP_POLICY_TASK_FAILED:
            _print_task_failure (server, rank, &s->end[rank].report);
            s->failure_over = deadline_in_ms (server->config.fail_grace * INT64_C (1000));
            break;
        case STOP_POLICY_NOT_OVER:
        case STOP_POLICY_CHIEF_ENDED:
        case STOP_POLICY_WORKERS_ENDED:
        case STOP_POLICY_OTHERS_ENDED:
            break;
    }
    s->grace_over = deadline_in_ms (server->config.eval_grace * INT64_C (1000));
    if (s->restarts)
        restarts_limit (s->restarts, s->grace_over);
    _print_grace (server);
}

/* Only what goes on when the job is over is restarted: what has grace, and what serves that. */
static void _end_restarts (const struct shutdown *s)
{
    int first;

    if (!s->restarts || stop_policy_cause (s->policy, &first) == STOP_POLICY_NOT_OVER)
        return;
    for (int rank = 0; rank < s->tasks; rank++) {
        enum stop_policy_order order = stop_policy_order (s->policy, rank);

        if (order != STOP_POLICY_STOP_AFTER_GRACE && order != STOP_POLICY_STOP_LAST)
            restarts_over (s->restarts, rank);
    }
}

static void _set_ended (const struct server *server, int rank, const struct exit_report *report)
{
    struct shutdown *s = server->shutdown;
    struct end *end = &s->end[rank];

    if (end->ended)
        return;
    end->ended = true;
    end->report = *report;
    end->restarts = s->restarts ? restarts_life (s->restarts, rank) : 0;
    s->left--;
    _print_beside_failure (server, rank, report);
    if (end->presumed ? stop_policy_lost (s->policy, rank) : stop_policy_ended (s->policy, rank, report))
        _job_is_over (server);
    _end_restarts (s);
}

/* A rank that counted as ended runs, or is to be restarted. */
static void _undo_end (struct shutdown *s, int rank)
{
    s->end[rank].presumed = s->end[rank].ended = false;
    s->left++;
    stop_policy_returned (s->policy, rank);
}

/* Lost supervisors. */

/* A task that has ended with 0 may be one of a restart of all: its supervisor is needed, too. */
static bool _is_needed (const struct shutdown *s, int rank)
{
    return !s->end[rank].ended || (s->restarts && restarts_waits (s->restarts, rank));
}

/*
 * A task has ended now, or its connection without a report; `failure` is what it has written about that.
 * The signal has asked it to end, or is 0.
 */
static void _note_end (struct shutdown *s, int rank, const struct failure_text *failure, int asked_signal)
{
    clock_gettime (CLOCK_REALTIME, &s->end[rank].at);
    s->end[rank].elapsed_ms = deadline_in_ms (0).at_ms - s->launched.at_ms;
    s->end[rank].asked_signal = asked_signal;
    ends_set_failure (&s->end[rank], failure);
}

/* A connection has ended without a report. */
static void _set_lost (struct shutdown *s, int rank, int64_t ms)
{
    static const struct failure_text nothing = { .source = FAILURE_TEXT_NONE };

    if (!_is_needed (s, rank))
        return;
    if (!s->end[rank].ended)
        _note_end (s, rank, &nothing, 0);
    if (s->restarts)
        restarts_set_away (s->restarts, rank, true);
    s->link[rank].lost = deadline_in_ms (ms);
    s->next_lost = deadline_min (s->next_lost, s->link[rank].lost);
}

void shutdown_lost (struct server *server, int rank)
{
    if (server->shutdown)
        _set_lost (server->shutdown, rank, BROKEN_LOST_MS);
}

static bool _is_overdue (const struct shutdown *s, int rank)
{
    return _is_needed (s, rank) && deadline_passed (s->link[rank].lost);
}

/* The loss of one that has ended with 0 shows when it is needed. */
static void _print_overdue (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    bool gathers = false;
    char names[1024], name[RANK_NAME_SIZE];
    struct list_text list = { names, sizeof (names), ", ", RANK_NAMES_MOST, 0, 0 };

    for (int rank = 0; rank < s->tasks; rank++) {
        bool member = s->restarts && restarts_gathers (s->restarts, rank);

        if (!_is_overdue (s, rank) || (s->end[rank].ended && !member))
            continue;
        gathers = gathers || member;
        list_text_add (&list, rank_name (step_roster (server->step), &step_roster (server->step)->rank[rank], name, sizeof (name)));
    }
    if (list.named)
        console_say ("error: spank_tf: %s: these tasks count as ended, because the connections to "
                     "their supervisors are lost: %s%s", step_name (server->step),
                     list_text_end (&list),
                     gathers ? "; the restart of all tasks is given up" : "");
}

/* Ranks whose supervisors have not come back count as killed with them. */
static void _check_lost (const struct server *server)
{
    static const struct exit_report killed = { EXIT_REPORT_SIGNAL, SIGKILL, false };
    struct shutdown *s = server->shutdown;

    if (!deadline_passed (s->next_lost))
        return;
    _print_overdue (server);
    s->next_lost = deadline_never ();
    for (int rank = 0; rank < s->tasks; rank++)
        if (_is_overdue (s, rank)) {
            s->end[rank].presumed = !s->end[rank].ended;
            if (s->restarts)
                restarts_lost (s->restarts, rank);
            _set_ended (server, rank, &killed);
        } else if (_is_needed (s, rank))
            s->next_lost = deadline_min (s->next_lost, s->link[rank].lost);
}

void shutdown_returned (struct server *server, int rank)
{
    struct shutdown *s = server->shutdown;
    struct end *end = s ? &s->end[rank] : NULL;

    if (!s)
        return;
    s->link[rank].lost = deadline_never ();
    s->link[rank].ordered = false;
    if (s->restarts)
        restarts_set_away (s->restarts, rank, false);
    if (!end->presumed)
        return;
    _undo_end (s, rank);
    if (s->restarts)
        restarts_returned (s->restarts, rank);
}

bool shutdown_all_ended (const struct shutdown *s)
{
    return s->left == 0 && (!s->restarts || restarts_are_done (s->restarts));
}

/* Connections. */

/* An order that does not arrive is sent again on the supervisor's next connection. */
static void _send_order (struct server *server, struct peer *peer, struct frame *frame)
{
    if (peer_send (peer, frame) == 0)
        return;
    shutdown_lost (server, peer->rank->number);
    peer_close (&server->peers, peer);
}

static void _order (struct server *server, struct peer *peer, enum order order)
{
    if (order == ORDER_EXIT)
        console_flush ();
    _send_order (server, peer, order_encode (order, server->config.server_token));
}

/* The same to a rank, if it has a connection. */
static void _order_rank (struct server *server, int rank, enum order order)
{
    struct peer *peer = step_roster (server->step)->rank[rank].peer;

    if (peer && peer->state == PEER_SUPERVISED)
        _order (server, peer, order);
}

/* Start the life that the rank is to live, for the first time or because the order was lost. */
static void _order_restart (struct server *server, int rank)
{
    struct peer *peer = step_roster (server->step)->rank[rank].peer;
    int life = restarts_life (server->shutdown->restarts, rank);

    if (peer && peer->state == PEER_SUPERVISED)
        _send_order (server, peer, order_encode_restart (life, server->config.server_token));
}

/* Restarts. */

static void _start_again (struct server *server, int rank)
{
    struct shutdown *s = server->shutdown;

    restart_lines_starts (s->lines, rank);
    /* It had ended with 0. */
    if (s->end[rank].ended)
        _undo_end (s, rank);
    s->link[rank].ordered = false;
    if (!step_roster (server->step)->rank[rank].peer && !deadline_is_set (s->link[rank].lost))
        _set_lost (s, rank, CLOSED_LOST_MS);
    _order_restart (server, rank);
}

/* The work is done while this task waits to be restarted: it is stopped, as if it ran. */
static bool _is_stopped_while_it_waits (const struct shutdown *s, int rank)
{
    int first;
    enum stop_policy_cause cause = stop_policy_cause (s->policy, &first);

    return _is_done_with (s, rank) && cause != STOP_POLICY_PS_FAILED && cause != STOP_POLICY_TASK_FAILED;
}

static void _release (struct server *server, int rank)
{
    static const struct exit_report stopped = { .kind = EXIT_REPORT_STOPPED };
    struct shutdown *s = server->shutdown;
    bool stops = _is_stopped_while_it_waits (s, rank);

    restart_lines_add (s->lines, rank, restarts_end (s->restarts, rank),
                       restarts_why (s->restarts, rank), NULL);
    _set_ended (server, rank, stops ? &stopped : restarts_end (s->restarts, rank));
    _show_end (server);
    _order_rank (server, rank, stops ? ORDER_STOP : ORDER_EXIT);
}

/* False if there is nothing to do. */
static bool _act (struct server *server, int rank)
{
    switch (restarts_due (server->shutdown->restarts, rank)) {
        case RESTARTS_NOTHING:
            return false;
        case RESTARTS_START:
            _start_again (server, rank);
            break;
        case RESTARTS_RELEASE:
            _release (server, rank);
            break;
    }
    return true;
}

/* The end of one rank may release others. */
static void _check_restarts (struct server *server)
{
    struct restarts *restarts = server->shutdown->restarts;
    bool more = restarts != NULL;

    while (more) {
        restarts_check (restarts);
        more = _act (server, restarts_first (restarts));
        for (int rank = 0; rank < server->shutdown->tasks; rank++)
            more |= _act (server, rank);
    }
}

/* Reports. */

static enum restarts_answer _ask_restarts (const struct server *server, int rank,
                                           const struct exit_report *report,
                                           const struct life_report *life)
{
    struct shutdown *s = server->shutdown;
    enum restart_policy_decision decision;
    enum restarts_answer answer;

    if (!s->restarts)
        return RESTARTS_ENDED;
    answer = restarts_report (s->restarts, rank, report, life, &decision);
    if (decision != RESTART_POLICY_NONE)
        restart_lines_add (s->lines, rank, report, decision, life->cannot);
    return answer;
}

/*
 * srun may end as soon as the last supervisor has exited, so what there is to print comes before
 * the supervisor may.
 */
static void _take_report (struct server *server, struct peer *peer,
                          const struct exit_report *report, const struct life_report *life,
                          const struct failure_text *failure)
{
    struct shutdown *s = server->shutdown;

    if (life->asked_signal) {
        stop_policy_asked (s->policy);
        s->failure_over = deadline_never ();
    }
    /* Its supervisor may report an end again while it waits. */
    if (!s->end[peer->rank->number].ended && !(s->restarts && restarts_waits (s->restarts, peer->rank->number)))
        _note_end (s, peer->rank->number, failure, life->asked_signal);
    switch (_ask_restarts (server, peer->rank->number, report, life)) {
        case RESTARTS_AGAIN:
            _order_restart (server, peer->rank->number);
            return;
        case RESTARTS_WAITS:
            _order (server, peer, ORDER_WAIT);
            /* An order to stop that met this report was not obeyed. */
            s->link[peer->rank->number].ordered = false;
            return;
        case RESTARTS_KEPT:
            _set_ended (server, peer->rank->number, report);
            _order (server, peer, ORDER_WAIT);
            return;
        case RESTARTS_ENDED:
            break;
    }
    _set_ended (server, peer->rank->number, report);
    _show_end (server);
    _order (server, peer, ORDER_EXIT);
}

/*
 * How long to wait for another connection if this one ends. MSG_PEEK clears an error of the socket;
 * the read that follows then shows end-of-file.
 */
static int64_t _lost_after_ms (const struct peer *peer)
{
    char byte;
    ssize_t n = recv (peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n == 0)
        return CLOSED_LOST_MS;
    return n < 0 && errno == ECONNRESET ? RESET_LOST_MS : BROKEN_LOST_MS;
}

void shutdown_receive (struct server *server, struct peer *peer)
{
    struct exit_report report;
    struct life_report life;
    struct failure_text failure;
    struct frame *frame = NULL;
    int64_t lost_after_ms = _lost_after_ms (peer);
    int n = frame_read (&peer->reader, peer->fd, &frame, NULL);

    if (n > 0 && exit_report_decode (&report, frame, NULL) == 0) {
        life_report_decode (&life, frame);
        failure_text_decode (&failure, frame);
        _take_report (server, peer, &report, &life, &failure);
    } else if (n != 0) {
        _set_lost (server->shutdown, peer->rank->number, lost_after_ms);
        peer_close (&server->peers, peer);
    }
    frame_destroy (frame);
}

bool shutdown_reconnect (struct server *server, struct peer *peer, const struct frame *frame)
{
    struct reconnect reconnect;
    struct errtext err;

    if (!server->shutdown
        || reconnect_decode (&reconnect, frame, step_roster (server->step)->tasks, &err) < 0)
        return false;
    peer_set_rank (&server->peers, peer, &step_roster (server->step)->rank[reconnect.rank], PEER_SUPERVISED);
    shutdown_returned (server, reconnect.rank);
    if (reconnect.ended)
        _take_report (server, peer, &reconnect.report, &reconnect.life, &reconnect.failure);
    return true;
}

/* Time. */

static bool _is_to_stop (const struct shutdown *s, int rank)
{
    return _is_done_with (s, rank)
           || (s->restarts
               && restarts_stops (s->restarts, rank, stop_policy_serves (s->policy, rank)));
}

void shutdown_check_time (struct server *server)
{
    struct shutdown *s = server->shutdown;

    if (!s)
        return;
    _check_lost (server);
    _check_restarts (server);
    restart_lines_check (s->lines);
    _show_end (server);
    for (int rank = 0; rank < s->tasks; rank++) {
        struct peer *peer = step_roster (server->step)->rank[rank].peer;

        if (!peer || peer->state != PEER_SUPERVISED || s->link[rank].ordered
            || !_is_to_stop (s, rank))
            continue;
        s->link[rank].ordered = true;
        _order (server, peer, ORDER_STOP);
    }
}

struct deadline shutdown_next (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    struct deadline next;

    if (!s)
        return deadline_never ();
    next = deadline_min (s->next_lost, restart_lines_next (s->lines));
    if (s->restarts)
        next = deadline_min (next, restarts_next (s->restarts));
    if (!deadline_passed (s->failure_over))
        next = deadline_min (next, s->failure_over);
    return deadline_passed (s->grace_over) ? next : deadline_min (next, s->grace_over);
}
