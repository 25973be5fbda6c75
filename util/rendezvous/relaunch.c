/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "relaunch.h"

#include "absence.h"
#include "end_lines.h"
#include "job.h"
#include "spares.h"
#include "supervisors.h"

static void _start_again (struct server *server, struct rank *rank)
{
    struct shutdown *s = server->shutdown;

    end_lines_killed (server);
    restart_lines_starts (s->lines, rank);
    spares_begin (server);
    job_runs (s, rank);
    rank->ordered = false;
    if (!rank->peer && !deadline_is_set (rank->away))
        absence_begin (server, rank, ABSENCE_CLOSED_MS);
    supervisors_order (server, rank, ORDER_RESTART);
}

/* The work is done while this task waits to be restarted: it is stopped, as if it ran. */
static bool _is_stopped (const struct shutdown *s, const struct rank *rank)
{
    enum stop_policy_cause cause = stop_policy_cause (s->policy);

    return job_is_done_with (s, rank) && cause != STOP_POLICY_PS_FAILED && cause != STOP_POLICY_TASK_FAILED;
}

static void _release (struct server *server, struct rank *rank)
{
    struct shutdown *s = server->shutdown;
    bool stops = _is_stopped (s, rank);
    struct exit_report report = rank->end.report;

    restart_lines_add (s->lines, rank, &report, restarts_why (s->restarts, rank), NULL);
    if (stops)
        report = (struct exit_report){ .kind = EXIT_REPORT_STOPPED };
    job_ended (server, rank, RANK_ENDED, &report);
    end_lines_show (server);
    supervisors_order (server, rank, stops ? ORDER_STOP : ORDER_EXIT);
}

/* False if there is nothing to do. */
static bool _act (struct server *server, struct rank *rank)
{
    switch (restarts_due (server->shutdown->restarts, rank)) {
        case RESTARTS_NOTHING: return false;
        case RESTARTS_START: _start_again (server, rank); break;
        case RESTARTS_RELEASE: _release (server, rank); break;
    }
    return true;
}

/* The end of one rank may release others. */
void relaunch_check (struct server *server)
{
    const struct shutdown *s = server->shutdown;
    bool more = server->config.restart.times > 0;

    while (more) {
        restarts_check (s->restarts);
        more = _act (server, restarts_first (s->restarts));
        for (int i = 0; i < s->roster->tasks; i++)
            more |= _act (server, &s->roster->rank[i]);
    }
}
