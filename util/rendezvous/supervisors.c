/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "supervisors.h"

#include "absence.h"
#include "console.h"
#include "end_lines.h"
#include "job.h"
#include "notify.h"
#include "protocol/reconnect.h"
#include "protocol/signs.h"
#include "spares.h"

/*
 * srun returns the greatest exit code of all tasks. When a task has failed without which the others cannot
 * go on, theirs are not greater than its: what they die of is probably that. But if Slurm has asked them to
 * end, as with srun -K, they end as without the plugin.
 *
 * A spare that has got the place of a lost task, and has not begun, exits with the code of that task's
 * failure: Slurm may hear of it from no other task, because the rest has been stopped.
 */
static int _exit_code (const struct shutdown *s, const struct rank *rank)
{
    const struct rank *first = stop_policy_cause_rank (s->policy);

    if (rank->kind == RULES_SPARE)
        return 0;
    if (stop_policy_cause (s->policy) == STOP_POLICY_TASK_FAILED && rank != first && !rank->end.asked_signal)
        return exit_report_code (&first->end.report);
    return rank->replaces ? exit_report_code (&rank->end.report) : 0;
}

/* What could not be sent is sent again on the supervisor's next connection. */
static void _lose (struct server *server, struct peer *peer)
{
    absence_begin (server, peer->rank, ABSENCE_BROKEN_MS);
    peer_close (&server->peers, peer);
}

static void _send_answer (struct server *server, struct peer *peer)
{
    if (peer_send_answer (&server->peers, peer) < 0)
        _lose (server, peer);
}

/*
 * With a new answer, when a spare has got a place. It is sent with each order, so nothing notes who has it.
 */
static void _order_restart (struct server *server, struct peer *peer)
{
    const char *token = server->config.server_token;

    if (!spares_are_used (server)) {
        if (peer_send (peer, order_encode_restart (peer->rank->life.number, token)) < 0)
            _lose (server, peer);
        return;
    }
    answer_message_clear (&peer->answer);
    peer->part = 0;
    if (step_answer (server->step, peer->rank, peer->rank->life.number, token, &peer->answer) < 0)
        _lose (server, peer);
    else
        _send_answer (server, peer);
}

static struct frame *_encode (const struct server *server, const struct rank *rank, enum order order)
{
    const char *token = server->config.server_token;

    if (order == ORDER_EXIT)
        return order_encode_exit (_exit_code (server->shutdown, rank), token);
    if (order == ORDER_STOP && rank->replaced_by)
        return order_encode_stop_at_once (token);
    return order_encode (order, token);
}

void supervisors_order (struct server *server, struct rank *rank, enum order order)
{
    struct peer *peer = rank->peer;

    if (!peer || peer->state != PEER_SUPERVISED)
        return;
    if (order == ORDER_EXIT) {
        console_flush ();
        notify_flush ();
    }
    if (order == ORDER_RESTART)
        _order_restart (server, peer);
    else if (peer_send (peer, _encode (server, rank, order)) < 0)
        _lose (server, peer);
}

/* Its place has been given away. */
static void _let_go (struct server *server, struct rank *rank)
{
    supervisors_order (server, rank, ORDER_STOP);
    supervisors_order (server, rank, ORDER_EXIT);
}

/* Another life would be possible if its supervisor, or its node, could begin it. */
static bool _cannot_go_on (const struct server *server, const struct rank *rank,
                           const struct exit_report *report, const struct life_report *life)
{
    if (life->life >= 0 || life->asked_signal || server->config.lost_after == 0)
        return false;
    return restarts_gathers (server->shutdown->restarts, rank)
           || (rank->state == RANK_RUNS
               && (report->kind == EXIT_REPORT_UNSTARTED
                   || restart_rule_covers (&server->config.restart, report)));
}

/*
 * srun may end as soon as the last supervisor has exited, so what there is to print comes before
 * the supervisor may.
 */
static void _take_report (struct server *server, struct rank *rank, const struct exit_report *report,
                          const struct life_report *life, const struct failure_text *failure)
{
    struct shutdown *s = server->shutdown;
    enum restart_policy_decision decision;
    enum restarts_answer answer;

    /* What becomes of it concerns no other task. */
    if (rank->replaced_by) {
        supervisors_order (server, rank, ORDER_EXIT);
        return;
    }
    end_lines_reported (server, rank, report);
    rank->address_use = life->address;
    if (life->asked_signal) {
        stop_policy_asked (s->policy);
        s->failure_over = deadline_never ();
    }
    /* Its supervisor may report an end again while it waits. */
    if (rank->state == RANK_RUNS || rank->state == RANK_SPARE)
        ends_note (&rank->end, s->launched, life->ago_ms, failure, life->asked_signal);
    if (rank->state == RANK_RUNS)
        watchdog_note_end (server, rank, report);
    if (_cannot_go_on (server, rank, report, life)
        && spares_move (server, rank, report, "cannot be restarted where it is", false)) {
        _let_go (server, rank);
        return;
    }
    answer = restarts_report (s->restarts, rank, report, life, &decision);
    if (decision != RESTART_POLICY_NONE)
        restart_lines_add (s->lines, rank, report, decision, life->cannot);
    if ((decision == RESTART_POLICY_ONE || decision == RESTART_POLICY_ALL)
        && spares_note_failure (server, rank)
        && spares_move (server, rank, report, "failed three times in a row, each within a minute", true)) {
        /* What is still to be said is not true any more. */
        restart_lines_add (s->lines, rank, report, RESTART_POLICY_NONE, NULL);
        _let_go (server, rank);
        return;
    }
    switch (answer) {
        case RESTARTS_AGAIN: supervisors_order (server, rank, ORDER_RESTART); break;
        case RESTARTS_WAITS:
            supervisors_order (server, rank, ORDER_WAIT);
            /* An order to stop that met this report was not obeyed. */
            rank->ordered = false;
            break;
        case RESTARTS_KEPT:
            job_ended (server, rank, RANK_KEPT, report);
            supervisors_order (server, rank, ORDER_WAIT);
            break;
        case RESTARTS_ENDED:
            job_ended (server, rank, RANK_ENDED, report);
            end_lines_show (server);
            supervisors_order (server, rank, ORDER_EXIT);
            break;
    }
}

void supervisors_receive (struct server *server, struct peer *peer)
{
    struct exit_report report;
    struct life_report life;
    struct failure_text failure;
    struct signs signs;
    struct frame *frame = NULL;
    int absence, n;

    if (peer_is_sending (peer)) {
        _send_answer (server, peer);
        return;
    }
    absence = absence_ms (peer);
    n = frame_read (&peer->reader, peer->fd, &frame, NULL);
    if (n > 0 && exit_report_decode (&report, frame, NULL) == 0) {
        life_report_decode (&life, frame);
        failure_text_decode (&failure, frame);
        _take_report (server, peer->rank, &report, &life, &failure);
    } else if (n > 0 && signs_are_in (frame) && signs_decode (&signs, frame, NULL) == 0) {
        unanswered_take (server, peer->rank, &signs);
        watchdog_take (server, peer->rank, &signs);
    } else if (n != 0) {
        absence_begin (server, peer->rank, absence);
        peer_close (&server->peers, peer);
    }
    frame_destroy (frame);
}

bool supervisors_reconnect (struct server *server, struct peer *peer, const struct frame *frame)
{
    const struct roster *roster = step_roster (server->step);
    struct reconnect reconnect;
    struct errtext err;
    struct rank *rank;

    if (!server->shutdown || reconnect_decode (&reconnect, frame, roster->tasks, &err) < 0)
        return false;
    rank = &roster->rank[reconnect.rank];
    peer_set_rank (&server->peers, peer, rank, PEER_SUPERVISED);
    absence_end (server, rank);
    /* If it has ended, it learns so that its own exit code does not count. */
    if (rank->replaced_by)
        supervisors_order (server, rank, ORDER_STOP);
    else if (!reconnect.ended)
        supervisors_order (server, rank, ORDER_RUN);
    if (reconnect.ended)
        _take_report (server, rank, &reconnect.report, &reconnect.life, &reconnect.failure);
    return true;
}
