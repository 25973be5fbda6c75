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

#include "common/list_text.h"
#include "console.h"
#include "ends.h"
#include "protocol/exit_report.h"
#include "protocol/order.h"
#include "protocol/reconnect.h"
#include "rank_names.h"
#include "restart_policy.h"
#include "show_json.h"
#include "stop_policy.h"

/* A supervisor that has closed its connection and lives reconnects within a second (uplink.c). */
#define CLOSED_LOST_MS 10000
/*
 * A process that is killed with data that it has not read sends a reset. So does a host on the way,
 * or one that has restarted: then the network works, and a supervisor that lives notices within 30 s
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

/* One rank's lives, if tasks may be started again. */
struct lives {
    int number;                         /* of the life that runs, or is the next to start */
    bool waits;                         /* it has ended and is to be started again */
    bool kept;                          /* it ended with 0, and may be one of a restart of all */
    struct exit_report report;          /* of a rank that waits */
    struct deadline due;                /* when it is to be started; never: when all have ended */
};

#define NO_RANK (-1)

struct shutdown {
    struct restart_policy *restarts;    /* NULL: none */
    struct lives *lives;                /* by rank */
    int gathering;                      /* the rank whose failure restarts all, or NO_RANK */
    struct deadline gathered;           /* when all members are to be started */
    struct deadline next_due;
    struct stop_policy *policy;
    int tasks, left;                    /* those that have not ended */
    struct end *end;                    /* by rank */
    struct link *link;                  /* by rank */
    struct deadline next_lost;          /* not later than the first of link[].lost */
    struct deadline grace_over;         /* of evaluators; never before the job is over */
    bool end_shown;
};

/* -1 if there is no memory. */
static int _create_restarts (struct shutdown *s, const struct rendezvous_config *c,
                             const char *const *role)
{
    const struct restart_policy_config config = { c->restarts, c->restart_any, c->restart_backoff };

    s->gathering = NO_RANK;
    s->gathered = s->next_due = deadline_never ();
    if (c->restarts == 0)
        return 0;
    s->restarts = restart_policy_create (&config, role, s->tasks);
    s->lives = calloc ((size_t)s->tasks, sizeof (*s->lives));
    return s->restarts && s->lives ? 0 : -1;
}

static struct shutdown *_create (const struct roster *roster, const struct rendezvous_config *config)
{
    struct shutdown *s = calloc (1, sizeof (*s));
    const char **role = calloc ((size_t)roster->tasks, sizeof (*role));

    if (s && role) {
        s->tasks = s->left = roster->tasks;
        s->next_lost = s->grace_over = deadline_never ();
        s->end = calloc ((size_t)roster->tasks, sizeof (*s->end));
        s->link = calloc ((size_t)roster->tasks, sizeof (*s->link));
        for (int rank = 0; rank < roster->tasks; rank++) {
            role[rank] = roster->member[rank].role;
            if (s->link)
                s->link[rank].lost = deadline_never ();
        }
        if (_create_restarts (s, config, role) == 0)
            s->policy = stop_policy_create (config->stop, role, roster->tasks);
    }
    free (role);
    if (s && s->end && s->link && s->policy)
        return s;
    shutdown_destroy (s);
    return NULL;
}

void shutdown_destroy (struct shutdown *s)
{
    if (!s)
        return;
    stop_policy_destroy (s->policy);
    restart_policy_destroy (s->restarts);
    free (s->lives);
    free (s->end);
    free (s->link);
    free (s);
}

/* A parallel debugger stops and shows slurmstepd's children, which have to be the programs. */
static bool _supervises (const struct server *server, const struct stop_policy *policy)
{
    bool wanted = stop_policy_supervises (policy) || server->config.show
                  || step_log_dir (server->step) || server->config.restarts > 0;

    if (wanted && server->config.debugged)
        console_say ("spank_tf: %s: under a parallel debugger no task is stopped when the work is "
                     "done, and the ends of tasks are not shown", step_name (server->step));
    return wanted && !server->config.debugged;
}

int shutdown_begin (struct server *server, struct errtext *err)
{
    struct shutdown *s = _create (step_roster (server->step), &server->config);

    if (!s)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (!_supervises (server, s->policy)) {
        shutdown_destroy (s);
        return 0;
    }
    server->shutdown = s;
    for (int rank = 0; rank < s->tasks; rank++)
        step_roster (server->step)->member[rank].serves = stop_policy_serves (s->policy, rank);
    return step_supervise (server->step, err);
}

/* Messages. */

/* SIGTERM probably came from the user or from Slurm, and is about to end the other tasks too. */
static void _print_ps_failure (const struct server *server, int rank,
                               const struct exit_report *report)
{
    struct exit_report_text how;
    char name[RANK_NAME_SIZE];

    rank_name (step_roster (server->step), rank, name, sizeof (name));
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

/* The ranks that get time to finish after the job's end. */
static void _print_grace (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    char names[RANK_NAME_SIZE + 64], name[RANK_NAME_SIZE];
    struct list_text list = { names, sizeof (names), ", ", 1, 0, 0 };

    for (int rank = 0; rank < s->tasks; rank++)
        if (stop_policy_order (s->policy, rank) == STOP_POLICY_STOP_AFTER_GRACE)
            list_text_add (&list, rank_name (step_roster (server->step), rank, name,
                                             sizeof (name)));
    if (list.named && server->config.eval_grace > 0)
        console_say ("spank_tf: %s: the training is over; waiting up to %d s for %s",
                     step_name (server->step), server->config.eval_grace, list_text_end (&list));
}

/* Once, when all tasks have ended. */
static void _show_end (const struct server *server)
{
    struct shutdown *s = server->shutdown;
    const struct roster *roster = step_roster (server->step);
    const char *step = step_name (server->step), *failure;
    char text[ENDS_FAILURE_SIZE];

    if (s->end_shown || s->left > 0)
        return;
    s->end_shown = true;
    console_table (server->config.json ? show_json_end (step, roster, s->end)
                                       : ends_table (step, roster, s->end), server->config.show);
    if ((failure = ends_first_failure (roster, s->end, text, sizeof (text))))
        console_say ("error: spank_tf: %s: first to fail: %s", step, failure);
}

/* Ends. */

static void _job_is_over (const struct server *server)
{
    struct shutdown *s = server->shutdown;
    int rank;

    if (stop_policy_cause (s->policy, &rank) == STOP_POLICY_PS_FAILED)
        _print_ps_failure (server, rank, &s->end[rank].report);
    if (s->restarts)
        restart_policy_over (s->restarts);
    s->grace_over = deadline_in_ms (server->config.eval_grace * INT64_C (1000));
    _print_grace (server);
}

static void _set_ended (const struct server *server, int rank, const struct exit_report *report)
{
    struct shutdown *s = server->shutdown;
    struct end *end = &s->end[rank];

    if (end->ended)
        return;
    end->ended = true;
    end->report = *report;
    if (!end->presumed)
        clock_gettime (CLOCK_REALTIME, &end->at);
    s->left--;
    if (stop_policy_ended (s->policy, rank, report))
        _job_is_over (server);
}

/* Lost supervisors. */

/* A connection has ended without a report. */
static void _set_lost (struct shutdown *s, int rank, int64_t ms)
{
    if (s->end[rank].ended)
        return;
    clock_gettime (CLOCK_REALTIME, &s->end[rank].at);
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
    return !s->end[rank].ended && deadline_passed (s->link[rank].lost);
}

static void _print_overdue (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    char names[1024], name[RANK_NAME_SIZE];
    struct list_text list = { names, sizeof (names), ", ", RANK_NAMES_MOST, 0, 0 };

    for (int rank = 0; rank < s->tasks; rank++)
        if (_is_overdue (s, rank))
            list_text_add (&list, rank_name (step_roster (server->step), rank, name,
                                             sizeof (name)));
    if (list.named)
        console_say ("error: spank_tf: %s: these tasks count as ended, because the connections to "
                     "their supervisors are lost: %s", step_name (server->step),
                     list_text_end (&list));
}

static void _set_unable (struct shutdown *s, int rank)
{
    restart_policy_cannot (s->restarts, rank);
    s->lives[rank].waits = false;
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
            s->end[rank].presumed = true;
            if (s->restarts)
                _set_unable (s, rank);
            _set_ended (server, rank, &killed);
        } else if (!s->end[rank].ended)
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
    if (!end->presumed)
        return;
    end->presumed = end->ended = false;
    s->left++;
    stop_policy_returned (s->policy, rank);
}

bool shutdown_all_ended (const struct shutdown *s)
{
    for (int rank = 0; s->lives && rank < s->tasks; rank++)
        if (s->lives[rank].kept)
            return false;
    return s->left == 0;
}

/* Connections. */

/* An order that does not arrive is sent again on the supervisor's next connection. */
static void _send_order (struct server *server, struct peer *peer, struct frame *frame)
{
    if (peer_send (peer, frame) == 0)
        return;
    shutdown_lost (server, peer->rank);
    peer_close (&server->peers, peer);
}

static void _order (struct server *server, struct peer *peer, enum order order)
{
    _send_order (server, peer, order_encode (order, server->config.server_token));
}

/* The same to a rank, if it has a connection. */
static void _order_rank (struct server *server, int rank, enum order order)
{
    struct peer *peer = server->peers.by_rank[rank];

    if (peer && peer->state == PEER_SUPERVISED)
        _order (server, peer, order);
}

/* Restarts. */

static void _print_restart (const struct server *server, int rank, const struct exit_report *report,
                            enum restart_policy_decision decision, const char *cannot)
{
    const struct restart_policy *policy = server->shutdown->restarts;
    const char *step = step_name (server->step);
    struct exit_report_text how;
    char name[RANK_NAME_SIZE];
    struct errtext why;

    rank_name (step_roster (server->step), rank, name, sizeof (name));
    exit_report_describe (report, &how);
    errtext_set (&why, "%s", cannot ? cannot : "a task of the cluster cannot be");
    if (decision == RESTART_POLICY_ONE)
        console_say ("spank_tf: %s: %s has ended, %s; it is started again in %d s (restarts left: %d)",
                     step, name, how.text, restart_policy_pause (policy),
                     restart_policy_left (policy));
    else if (decision == RESTART_POLICY_ALL)
        console_say ("spank_tf: %s: %s has ended, %s; all tasks are stopped, and started again after "
                     "%d s (restarts left: %d)", step, name, how.text,
                     restart_policy_pause (policy), restart_policy_left (policy));
    else if (decision == RESTART_POLICY_USED_UP)
        console_say ("spank_tf: %s: %s has ended, %s; no restart is left", step, name, how.text);
    else if (decision == RESTART_POLICY_CANNOT)
        console_say ("error: spank_tf: %s: %s has ended, %s, and is not started again: %s", step, name,
                     how.text, why.text);
}

static bool _order_wait (struct server *server, struct peer *peer)
{
    _order (server, peer, ORDER_WAIT);
    return true;
}

static void _set_waiting (struct shutdown *s, int rank, const struct exit_report *report,
                          struct deadline due)
{
    struct lives *lives = &s->lives[rank];

    lives->waits = true;
    lives->report = *report;
    lives->due = due;
    s->next_due = deadline_min (s->next_due, due);
    if (!s->end[rank].presumed)
        clock_gettime (CLOCK_REALTIME, &s->end[rank].at);
}

/* A task that ended with 0 takes part in a restart of all. */
static void _revive (struct server *server, int rank)
{
    struct shutdown *s = server->shutdown;

    if (!s->lives[rank].kept)
        return;
    s->lives[rank].kept = false;
    _set_waiting (s, rank, &s->end[rank].report, deadline_never ());
    s->end[rank].ended = false;
    s->left++;
    stop_policy_returned (s->policy, rank);
    if (!server->peers.by_rank[rank])
        _set_lost (s, rank, CLOSED_LOST_MS);
}

static struct deadline _after_pause (const struct shutdown *s)
{
    return deadline_in_ms (restart_policy_pause (s->restarts) * INT64_C (1000));
}

static void _begin_gathering (struct server *server, int rank)
{
    struct shutdown *s = server->shutdown;

    s->gathering = rank;
    for (int i = 0; i < s->tasks; i++)
        _revive (server, i);
}

/* A rank has ended by itself. True if its supervisor is to wait. */
static bool _decide (struct server *server, int rank, const struct exit_report *report,
                     const char *cannot)
{
    struct shutdown *s = server->shutdown;
    enum restart_policy_decision decision = restart_policy_ended (s->restarts, rank, report);

    _print_restart (server, rank, report, decision, cannot);
    if (decision == RESTART_POLICY_ONE)
        _set_waiting (s, rank, report, _after_pause (s));
    else if (decision == RESTART_POLICY_ALL) {
        _set_waiting (s, rank, report, deadline_never ());
        _begin_gathering (server, rank);
    } else if (report->kind == EXIT_REPORT_EXIT && report->number == 0) {
        _set_ended (server, rank, report);
        s->lives[rank].kept = s->left > 0 && restart_policy_keeps (s->restarts, rank);
    }
    return s->lives[rank].waits || s->lives[rank].kept;
}

/* True if the supervisor was answered: its task may be started again. */
static bool _may_restart (struct server *server, struct peer *peer,
                          const struct exit_report *report, const struct life_report *life)
{
    struct shutdown *s = server->shutdown;
    struct lives *lives = &s->lives[peer->rank];

    if (life->asked_to_end)
        restart_policy_over (s->restarts);
    else if (life->life >= 0 && life->life < lives->number) {
        /* The order was lost with the former connection. */
        _send_order (server, peer,
                     order_encode_restart (lives->number, server->config.server_token));
        return true;
    }
    if (life->life < 0)
        _set_unable (s, peer->rank);
    if (life->life < 0 && s->gathering != NO_RANK)
        return false;
    if (lives->waits || lives->kept)
        return _order_wait (server, peer);
    if (s->end[peer->rank].ended)
        return false;
    if (s->gathering != NO_RANK && restart_policy_is_member (s->restarts, peer->rank))
        _set_waiting (s, peer->rank, report, deadline_never ());
    else if (!_decide (server, peer->rank, report, life->cannot))
        return false;
    return _order_wait (server, peer);
}

static void _start_again (struct server *server, int rank)
{
    struct shutdown *s = server->shutdown;
    struct peer *peer = server->peers.by_rank[rank];

    s->lives[rank].waits = false;
    s->lives[rank].number++;
    s->end[rank].restarts++;
    s->link[rank].ordered = false;
    if (peer && peer->state == PEER_SUPERVISED)
        _send_order (server, peer, order_encode_restart (s->lives[rank].number,
                                                         server->config.server_token));
}

/* A rank that waited is not started again: it has ended. */
static void _release (struct server *server, int rank)
{
    struct shutdown *s = server->shutdown;

    if (!s->lives[rank].waits && !s->lives[rank].kept)
        return;
    if (s->lives[rank].waits)
        _set_ended (server, rank, &s->lives[rank].report);
    s->lives[rank].waits = s->lives[rank].kept = false;
    _show_end (server);
    _order_rank (server, rank, ORDER_EXIT);
}

static bool _all_wait (const struct shutdown *s)
{
    for (int rank = 0; rank < s->tasks; rank++)
        if (restart_policy_is_member (s->restarts, rank) && !s->lives[rank].waits)
            return false;
    return true;
}

/* The barrier: all members start when all have ended. */
static void _check_gathering (struct server *server)
{
    struct shutdown *s = server->shutdown;
    int first = s->gathering;

    if (first == NO_RANK)
        return;
    if (!restart_policy_is_possible (s->restarts, first)) {
        s->gathering = NO_RANK;
        s->gathered = deadline_never ();
        _release (server, first);
        for (int rank = 0; rank < s->tasks; rank++)
            if (restart_policy_is_member (s->restarts, rank))
                _release (server, rank);
    } else if (_all_wait (s) && deadline_left_ms (s->gathered) < 0)
        s->gathered = _after_pause (s);
    else if (_all_wait (s) && deadline_passed (s->gathered)) {
        s->gathering = NO_RANK;
        s->gathered = deadline_never ();
        for (int rank = 0; rank < s->tasks; rank++)
            if (restart_policy_is_member (s->restarts, rank))
                _start_again (server, rank);
    }
}

static void _check_restarts (struct server *server)
{
    struct shutdown *s = server->shutdown;

    if (!s->restarts)
        return;
    _check_gathering (server);
    s->next_due = s->gathered;
    for (int rank = 0; rank < s->tasks; rank++) {
        struct lives *lives = &s->lives[rank];
        bool gathers = s->gathering != NO_RANK && restart_policy_is_member (s->restarts, rank);

        if (lives->kept && (s->left == 0 || !restart_policy_keeps (s->restarts, rank)))
            _release (server, rank);
        else if (lives->waits && !gathers && !restart_policy_is_possible (s->restarts, rank))
            _release (server, rank);
        else if (lives->waits && !gathers && deadline_passed (lives->due))
            _start_again (server, rank);
        else if (lives->waits && !gathers)
            s->next_due = deadline_min (s->next_due, lives->due);
    }
}

/*
 * srun may end as soon as the last supervisor has exited, so what there is to print comes before
 * the supervisor may.
 */
static void _take_report (struct server *server, struct peer *peer,
                          const struct exit_report *report, const struct life_report *life)
{
    if (server->shutdown->restarts && _may_restart (server, peer, report, life))
        return;
    _set_ended (server, peer->rank, report);
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
    struct frame *frame = NULL;
    int64_t lost_after_ms = _lost_after_ms (peer);
    int n = frame_read (&peer->reader, peer->fd, &frame, NULL);

    if (n > 0 && exit_report_decode (&report, frame, NULL) == 0) {
        life_report_decode (&life, frame);
        _take_report (server, peer, &report, &life);
    } else if (n != 0) {
        _set_lost (server->shutdown, peer->rank, lost_after_ms);
        peer_close (&server->peers, peer);
    }
    frame_destroy (frame);
}

bool shutdown_reconnect (struct server *server, struct peer *peer, const struct frame *frame)
{
    struct reconnect reconnect;
    struct errtext err;

    if (!server->shutdown
        || reconnect_decode (&reconnect, frame, server->peers.ranks, &err) < 0)
        return false;
    peer_set_rank (&server->peers, peer, reconnect.rank, PEER_SUPERVISED);
    shutdown_returned (server, reconnect.rank);
    if (reconnect.ended)
        _take_report (server, peer, &reconnect.report, &reconnect.life);
    return true;
}

/* Time. */

static bool _is_to_stop (const struct shutdown *s, int rank)
{
    if (s->gathering != NO_RANK && restart_policy_is_member (s->restarts, rank)
        && !s->lives[rank].waits)
        return true;
    switch (stop_policy_order (s->policy, rank)) {
        case STOP_POLICY_LEAVE:
            return false;
        case STOP_POLICY_STOP:
            return true;
        case STOP_POLICY_STOP_AFTER_GRACE:
            return deadline_passed (s->grace_over);
    }
    return false;
}

void shutdown_check_time (struct server *server)
{
    struct shutdown *s = server->shutdown;

    if (!s)
        return;
    _check_lost (server);
    _check_restarts (server);
    _show_end (server);
    for (int rank = 0; rank < s->tasks; rank++) {
        struct peer *peer = server->peers.by_rank[rank];

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

    if (!s)
        return deadline_never ();
    return deadline_min (s->next_due, deadline_passed (s->grace_over)
                                          ? s->next_lost
                                          : deadline_min (s->grace_over, s->next_lost));
}
