/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "step_overview.h"

#include <stddef.h>

#include "job/ledger.h"
#include "job/place.h"

static int _seconds (int64_t ms)
{
    int64_t s = ms / 1000;

    return s < 0 ? 0 : s < OVERVIEW_MAX_SECONDS ? (int)s : OVERVIEW_MAX_SECONDS;
}

/* job->run at this moment. */
static int64_t _run_now (const struct step_view *view)
{
    const struct job *job = view->job;

    return job->suspended || view->now < job->now ? job->run : job->run + (view->now - job->now);
}

/* The step. */

static enum overview_phase _phase (const struct step_view *view)
{
    const struct job *job = view->job;

    if (!job)
        return view->refused ? OVERVIEW_ENDS : OVERVIEW_LAUNCHES;
    if (job->suspended)
        return OVERVIEW_SUSPENDED;
    if (job->phase == JOB_FINISHES)
        return OVERVIEW_ENDS;
    switch (job->ledger.account) {
        case LEDGER_STARTING: return job->ledger.says ? OVERVIEW_STARTS : OVERVIEW_RUNS;
        case LEDGER_PREFLIGHT:
        case LEDGER_WAITING: return OVERVIEW_STARTS;
        case LEDGER_REPEATED: return OVERVIEW_REPEATS;
        case LEDGER_PROGRESS: return OVERVIEW_TRAINS;
        case LEDGER_PAUSING: return OVERVIEW_RESTARTS;
        case LEDGER_LAUNCH:
        case LEDGER_NOTICING: /* the job is over then */
        case LEDGER_SUSPENDED:
        case LEDGER_ACCOUNTS: break;
    }
    return OVERVIEW_RUNS;
}

static void _set_times (struct overview *o, const struct ledger *l)
{
    o->times = (struct overview_times){
        .launch = _seconds (l->ms[LEDGER_LAUNCH]),
        .preflight = _seconds (l->ms[LEDGER_PREFLIGHT]),
        .starting = _seconds (l->ms[LEDGER_STARTING]),
        .waiting = _seconds (l->ms[LEDGER_WAITING]),
        .repeated = _seconds (l->ms[LEDGER_REPEATED]),
        .progress = _seconds (l->ms[LEDGER_PROGRESS]),
        .noticing = _seconds (l->ms[LEDGER_NOTICING]),
        .pausing = _seconds (l->ms[LEDGER_PAUSING]),
        .suspended = _seconds (l->ms[LEDGER_SUSPENDED]),
    };
    o->repeated_steps = (int)(l->repeated_steps < SIGNS_MAX_STEP ? l->repeated_steps : SIGNS_MAX_STEP);
}

static void _add_job (struct overview *o, const struct step_view *view, struct step_overview_room *room)
{
    struct ledger ledger =
        view->job->end_told ? view->job->ledger
                            : ledger_at (view->job, moment_last (view->now, view->job->now), _run_now (view));

    o->step = ledger.reached;
    o->highest = ledger_last_step (&ledger);
    o->rate = pace_rate (view->pace, _run_now (view), &o->rate_seconds);
    o->rate_before = pace_before (view->pace, _run_now (view), &o->slower);
    o->restarts = view->job->budget.used;
    if (view->config->restart.times > 0)
        o->restarts_left = budget_left (view->job);
    _set_times (o, &ledger);
    o->report = ledger_text (&ledger, room->report, sizeof (room->report));
}

struct overview step_overview (const struct step_view *view, struct step_overview_room *room)
{
    const struct rendezvous_config *config = view->config;
    struct overview o = {
        .job_step = view->roster->step.number,
        .array = config->array,
        .user = config->user,
        .job_name = config->job_name,
        .srun_host = config->srun_host,
        .phase = _phase (view),
        .ranks = view->roster->tasks,
        .rows = view->roster->tasks,
        .missing = view->job ? 0 : roster_missing (view->roster),
        .elapsed = _seconds (view->now - view->begun),
        .restarts_left = -1,
    };

    if (view->job)
        _add_job (&o, view, room);
    return o;
}

/* A rank. */

static bool _is_unreachable (const struct rank *rank)
{
    return rank_is_supervised (rank) && (rank->link == LINK_NONE || rank->silent);
}

static enum overview_state _state_of_life (const struct rank *rank)
{
    const struct place *p = rank->place;

    if (p->phase == PLACE_WAITS)
        return OVERVIEW_RANK_WAITS;
    if (rank->watch.hung)
        return OVERVIEW_RANK_HUNG;
    if (rank->told.stop != GOAL_RUN)
        return OVERVIEW_RANK_STOPPING;
    return p->phase == PLACE_BEGINS ? OVERVIEW_RANK_BEGINS : OVERVIEW_RANK_RUNS;
}

static enum overview_state _state_of_rank (const struct step_view *view, const struct rank *rank)
{
    if (!view->job)
        return rank->launch == RANK_HERE ? OVERVIEW_RANK_REGISTERED : OVERVIEW_RANK_MISSING;
    if (rank->replaced_by)
        return OVERVIEW_RANK_REPLACED;
    if (rank->lost)
        return OVERVIEW_RANK_LOST;
    if (rank->place && rank->place->phase >= PLACE_KEPT)
        return OVERVIEW_RANK_ENDED;
    if (_is_unreachable (rank))
        return OVERVIEW_RANK_SILENT;
    return rank->place ? _state_of_life (rank) : OVERVIEW_RANK_SPARE;
}

static int _unheard (const struct step_view *view, const struct rank *rank)
{
    int64_t since = rank->unheard != NEVER ? rank->unheard : rank->heard;

    return since > 0 ? _seconds (view->now - since) : -1;
}

/* What its supervisor has told of the life that runs, or ran last. */
static void _add_signs (struct overview_rank *o, const struct step_view *view, const struct rank *rank)
{
    const struct watch_standing *w = &rank->watch;

    if (w->told_at == 0 || (rank->place && w->signs.life != rank->place->life.number))
        return;
    o->step = w->signs.step;
    o->source = w->signs.source;
    o->told_age = _seconds (view->now - w->told_at);
    if (w->signs.source == SIGNS_LOG || w->signs.source == SIGNS_MESSAGES)
        o->sign_age = _seconds (view->now - w->told_at + w->signs.ago_ms);
    if (w->signs.status[0])
        o->words = w->signs.status;
    if (rank->aside.life != w->signs.life || rank->aside.step <= o->step)
        return;
    o->step = rank->aside.step;
    o->told_age = _seconds (view->now - rank->aside.at);
    o->sign_age = _seconds (view->now - rank->aside.at + rank->aside.ago_ms);
}

struct overview_rank step_overview_rank (const struct step_view *view, const struct rank *rank,
                                         struct step_overview_room *room)
{
    struct overview_rank o = {
        .rank = rank->number,
        .role = rank_role (rank),
        .index = rank_index (rank),
        .node = rank->node,
        .state = _state_of_rank (view, rank),
        .sign_age = -1,
        .told_age = -1,
        .unheard = -1,
    };

    if (!view->job)
        return o;
    o.restarts = rank_restarts (rank);
    _add_signs (&o, view, rank);
    if (o.state == OVERVIEW_RANK_SILENT)
        o.unheard = _unheard (view, rank);
    if (o.state == OVERVIEW_RANK_ENDED) {
        o.code = exit_report_code (&rank->end.report);
        o.end = exit_report_describe (&rank->end.report, EXIT_REPORT_SENTENCE, &room->end);
    }
    return o;
}
