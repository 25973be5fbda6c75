/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "job.h"

#include <signal.h>

#include "end_lines.h"

int job_grace (const struct server *server)
{
    const struct rendezvous_config *c = &server->config;

    return stop_policy_failed (server->shutdown->policy) && c->fail_grace < c->eval_grace ? c->fail_grace
                                                                                          : c->eval_grace;
}

static void _set_over (struct server *server)
{
    struct shutdown *s = server->shutdown;

    end_lines_over (server);
    if (stop_policy_cause (s->policy) == STOP_POLICY_TASK_FAILED)
        s->failure_over = deadline_in_ms (server->config.fail_grace * INT64_C (1000));
    s->grace_over = deadline_in_ms (job_grace (server) * INT64_C (1000));
    restarts_limit (s->restarts, s->grace_over);
    end_lines_grace (server);
}

/* Only what goes on when the job is over is restarted: what has grace, and what serves that. */
static void _end_restarts (const struct shutdown *s)
{
    for (int i = 0; i < s->roster->tasks; i++) {
        struct rank *rank = &s->roster->rank[i];
        enum stop_policy_order order = stop_policy_order (s->policy, rank);

        if (order != STOP_POLICY_STOP_AFTER_GRACE && order != STOP_POLICY_STOP_LAST)
            restarts_over (s->restarts, rank);
    }
}

void job_ended (struct server *server, struct rank *rank, enum rank_state state,
                const struct exit_report *report)
{
    struct shutdown *s = server->shutdown;
    bool had_ended = rank_has_ended (rank);

    if (!had_ended) {
        rank->end.report = *report;
        /* While the job may need it. Losses have been printed. */
        if (state != RANK_LOST)
            end_lines_beside (server, rank);
    }
    rank->state = state;
    if (had_ended)
        return;
    s->left--;
    /* Spares that are lost may not be needed any more. */
    if (server->config.lost_after > 0)
        s->next_lost = deadline_in_ms (0);
    if (stop_policy_ended (s->policy, rank))
        _set_over (server);
    else if (state == RANK_ENDED && stop_policy_cause (s->policy) == STOP_POLICY_NOT_OVER && s->left > 0)
        end_lines_missed (server, rank);
    if (server->config.restart.times > 0 && stop_policy_cause (s->policy) != STOP_POLICY_NOT_OVER)
        _end_restarts (s);
}

void job_hangs (struct server *server, const struct rank *rank)
{
    struct shutdown *s = server->shutdown;

    if (!stop_policy_hangs (s->policy, rank))
        return;
    _set_over (server);
    if (server->config.restart.times > 0)
        _end_restarts (s);
}

void job_replaced (struct shutdown *s, struct rank *lost, struct rank *spare)
{
    static const struct exit_report killed = { .kind = EXIT_REPORT_SIGNAL, .number = SIGKILL };

    if (!rank_has_ended (lost))
        lost->end.report = killed;
    lost->state = RANK_ENDED;
    lost->away = lost->given_up = deadline_never ();
    lost->replaced_by = spare;
    spare->replaces = lost;
    spare->first_role = spare->role;
    spare->first_index = spare->index;
    spare->role = lost->role;
    spare->index = lost->index;
    spare->kind = lost->kind;
    spare->beside = lost->beside;
    spare->serves = lost->serves;
    lost->kind = RULES_SPARE;
    lost->beside = lost->serves = false;
    /* One of the two has ended now: the rank or, if it had ended with 0, the spare until it runs. */
    s->left--;
    stop_policy_replaced (s->policy, lost, spare);
}

void job_runs (struct shutdown *s, struct rank *rank)
{
    if (rank_has_ended (rank)) {
        s->left++;
        stop_policy_returned (s->policy, rank);
    }
    rank->state = RANK_RUNS;
}

bool job_is_done_with (const struct shutdown *s, const struct rank *rank)
{
    switch (stop_policy_order (s->policy, rank)) {
        case STOP_POLICY_LEAVE: return false;
        case STOP_POLICY_STOP: return true;
        case STOP_POLICY_STOP_AFTER_GRACE: return deadline_passed (s->grace_over);
        case STOP_POLICY_STOP_AFTER_FAILURE: return deadline_passed (s->failure_over);
        case STOP_POLICY_STOP_LAST:
            return deadline_passed (s->grace_over)
                   && (stop_policy_cause (s->policy) != STOP_POLICY_TASK_FAILED
                       || deadline_passed (s->failure_over));
    }
    return false;
}
