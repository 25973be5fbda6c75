/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "shutdown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "absence.h"
#include "console.h"
#include "end_lines.h"
#include "job.h"
#include "relaunch.h"
#include "supervisors.h"

static struct shutdown *_create (struct step *step, const struct rendezvous_config *c)
{
    struct roster *roster = step_roster (step);
    struct shutdown *s = calloc (1, sizeof (*s));
    bool restarts = c->restart.times > 0;

    if (!s)
        return NULL;
    s->roster = roster;
    s->left = roster->tasks;
    s->launched = deadline_in_ms (0);
    s->next_lost = s->grace_over = s->failure_over = s->replaced_sign = deadline_never ();
    unanswered_init (&s->unanswered);
    s->policy = stop_policy_create (c->stop, roster->rank, roster->tasks);
    s->restarts = restarts_create (&c->restart, c->stop_grace, !c->wait_limited, roster->rank, roster->tasks);
    if (s->restarts && restarts)
        s->lines = restart_lines_create (step, s->restarts, c->stop_grace, roster->tasks);
    if (s->policy && s->restarts && (s->lines || !restarts))
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
    free (s);
}

/* Without supervisors the step would not be what the user has asked for. */
static bool _needs_supervisors (const struct server *server, const struct stop_policy *policy)
{
    return stop_policy_supervises (policy) || server->config.show || step_log_dir (server->step)
           || server->config.restart.times > 0 || server->config.watch.seconds > 0;
}

/*
 * A step of several tasks has supervisors also to learn which one failed first, unless the user wants
 * none to be stopped; and any step, if the site wants to know its end. A parallel debugger stops and shows
 * slurmstepd's children, which have to be the programs.
 */
static bool _supervises (const struct server *server, bool needed)
{
    bool wanted = needed || server->config.notify
                  || (step_roster (server->step)->tasks > 1 && server->config.stop != STOP_WHEN_NEVER);

    if (needed && server->config.debugged)
        console_say ("spank_tf: %s: under a parallel debugger no task is stopped when the work is "
                     "done%s, and the ends of tasks are not shown%s",
                     step_name (server->step), server->config.restart.times > 0 ? ", or restarted" : "",
                     server->config.tee ? "; srun does not get their output" : "");
    return wanted && !server->config.debugged;
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
    for (int i = 0; i < s->roster->tasks; i++)
        s->roster->rank[i].serves = stop_policy_serves (s->policy, &s->roster->rank[i]);
    return 0;
}

bool shutdown_all_ended (const struct shutdown *s)
{
    for (int i = 0; i < s->roster->tasks; i++)
        if (rank_is_supervised (&s->roster->rank[i]))
            return false;
    return true;
}

void shutdown_check_time (struct server *server)
{
    struct shutdown *s = server->shutdown;

    if (!s)
        return;
    absence_check (server);
    watchdog_check (server);
    unanswered_check (server);
    relaunch_check (server);
    restart_lines_check (s->lines);
    end_lines_show (server);
    for (int i = 0; i < s->roster->tasks; i++) {
        struct rank *rank = &s->roster->rank[i];
        bool hung = watchdog_is_hung (rank);

        if (!rank->peer || rank->peer->state != PEER_SUPERVISED || peer_is_sending (rank->peer)
            || rank->ordered || (!hung && !job_is_done_with (s, rank) && !restarts_stops (s->restarts, rank)))
            continue;
        rank->ordered = true;
        supervisors_order (server, rank, hung ? ORDER_ABORT : ORDER_STOP);
    }
}

struct deadline shutdown_next (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    struct deadline next;

    if (!s)
        return deadline_never ();
    next = deadline_min (s->next_lost, restart_lines_next (s->lines));
    next = deadline_min (next, restarts_next (s->restarts));
    next = deadline_min (next, watchdog_next (server));
    next = deadline_min (next, s->unanswered.due);
    if (!deadline_passed (s->failure_over))
        next = deadline_min (next, s->failure_over);
    return deadline_passed (s->grace_over) ? next : deadline_min (next, s->grace_over);
}
