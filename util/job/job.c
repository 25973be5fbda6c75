/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "job.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "absence.h"
#include "common/second.h"
#include "duties.h"
#include "ends.h"
#include "finish.h"
#include "goals.h"
#include "ledger.h"
#include "place.h"
#include "requeue.h"
#include "restarts.h"
#include "tracebacks.h"
#include "unanswered.h"
#include "watchdog.h"

#define HEARTBEAT_MS 60000

/* The beginning. */

struct job *job_create (const struct rendezvous_config *config, struct rank *rank, int tasks,
                        struct place *place, int places)
{
    struct job *job = calloc (1, sizeof (*job));

    if (!job)
        return NULL;
    job->config = config;
    job->rank = rank;
    job->tasks = tasks;
    job->place = place;
    job->places = places;
    /* As if it were the first one: after another rendezvous this one does again what that one has read. */
    EACH_PLACE (p, job)
        *p = (struct place){ .role = p->role,
                             .index = p->index,
                             .kind = p->kind,
                             .beside = p->beside,
                             .needs_master_port = p->needs_master_port,
                             .rank = p->rank };
    job->finish.grace_over = job->finish.failure_over = job->left = NEVER;
    job->replaced_sign = job->unanswered.due = job->beat = NEVER;
    job->requeue = (struct requeue){ .ask = NEVER, .end = NEVER, .saves = NEVER };
    job->preflight.until = job->watchdog.patience = NEVER;
    duties_set (job);
    return job;
}

void job_destroy (struct job *job)
{
    if (!job)
        return;
    EACH_RANK (r, job) {
        free (r->why);
        r->why = NULL;
    }
    facts_clear (&job->facts);
    free (job);
}

void job_launched (struct job *job, int64_t now, int64_t launch_ms)
{
    job->now = job->run = job->facts.now = job->launched = now;
    job->watchdog.began = job->run;
    job->beat = rendezvous_config_notifies (job->config) ? now + HEARTBEAT_MS : NEVER;
    EACH_RANK (r, job) {
        r->heard = now;
        r->alive = r->place && !job->config->task.preflight;
        r->away = r->given_up = r->unheard = NEVER;
        r->has = r->alive ? 0 : -1;
        r->told = (struct goal){ .life = r->has, .code = GOAL_OWN_CODE };
        if (!r->place)
            r->end.report = report_stopped;
    }
    EACH_PLACE (p, job) {
        p->phase = PLACE_RUNS;
        p->life.began = job->run;
    }
    if (job->config->task.preflight)
        restarts_await_preflight (job);
    ledger_begin (job, launch_ms);
    job->requeue.ask = job->config->requeue > 0 ? now : NEVER;
    job->requeue.asked = now;
}

/* Time. */

/* Until then it was as the last input has left it. */
static void _set_time (struct job *job, int64_t now)
{
    job->run += job->suspended ? 0 : now - job->now;
    job->now = job->facts.now = now;
    restarts_time (job);
}

/* Notes. */

/*
 * True if the report is news: a supervisor tells its last one again when something else has changed, and on
 * each connection. It begins no life before its last report is known here.
 */
static bool _note_report (struct rank *rank, const struct status *status)
{
    bool is_news = status->life.number > rank->report;

    rank->said = status->report;
    rank->report = status->life.number;
    if (rank->told.life > rank->has)
        rank->told.life = rank->has;
    return is_news;
}

static void _note_status (struct job *job, struct rank *rank, const struct status *status)
{
    const struct signs *signs = &status->signs;
    struct place *p = rank->place;

    rank->heard = job->now;
    rank->suspended = signs->suspended;
    if (signs->started_ms > job->budget.start_ms)
        job->budget.start_ms = signs->started_ms;
    rank->alive = !status->ended;
    if (p && signs->life <= p->life.number)
        rank->has = signs->life;
    if (p && p->phase == PLACE_BEGINS && rank->has == p->life.number)
        p->phase = PLACE_RUNS;
    if (p)
        restarts_step (job, p, signs->step);
    rank->checked = status->check;
    unanswered_take (job, rank, signs);
    watchdog_take (job, rank, signs);
    tracebacks_take (job, rank, signs);
    ledger_step (job, rank, signs);
}

/* Reports: what they mean. */

static void _note_end (struct job *job, struct rank *rank, const struct status *status,
                       const struct exit_report *report)
{
    const struct life_report *life = &status->life;

    finish_note_end (job, rank, job->now - life->ago_ms, &status->failure, life->asked_signal);
    rank->end.report = *report;
    /* gcc -fanalyzer is wrong: the rank keeps its end. */
    watchdog_note_end (job, rank);
}

/* A life has ended. */
static void _take_end (struct job *job, struct place *p, const struct status *status,
                       const struct exit_report *report)
{
    _note_end (job, p->rank, status, report);
    if (exit_report_failed (report))
        ledger_fail (job, job->now - p->rank->end.at);
    p->rank->end.kill_told = p->rank->watch.hung = false;
    restarts_end (job, p);
}

/*
 * It has not begun the life that it is to run: that was withdrawn, or Slurm has asked the step to end, or it
 * cannot begin. What it was stopped for is a failure then.
 */
static void _take_unbegun (struct job *job, struct place *p, const struct status *status)
{
    if (p->rank->cannot && !status->life.asked_signal)
        _take_end (job, p, status,
                   status->report.kind == EXIT_REPORT_STOPPED ? &report_unstarted : &status->report);
    else {
        /* Its end is this one, not that of a connection. */
        if (p->life.number == 0)
            finish_note_end (job, p->rank, job->now, NULL, status->life.asked_signal);
        restarts_withdraw (job, p, &status->report);
    }
}

static void _take_report (struct job *job, struct rank *rank, const struct status *status)
{
    const struct life_report *life = &status->life;
    struct place *p = rank->place;
    struct fact *fact;

    /* What becomes of one that was replaced concerns no other task. */
    if (!_note_report (rank, status) || rank->replaced_by)
        return;
    rank->address_use = life->address;
    if (life->address == ADDRESS_UNUSED && alone_has_met (job->rank, job->tasks, &life->peers))
        rank->address_use = ADDRESS_OTHER;
    rank->cannot = life->life < 0;
    free (rank->why);
    rank->why = life->cannot ? strdup (life->cannot) : NULL;
    if (life->asked_signal)
        restarts_ask (job, life->asked_signal, life->asked_at);
    if (!p) {
        if (rank->cannot && !rank->released) {
            rank->released = true;
            finish_note_end (job, rank, job->now, NULL, 0);
        }
        return;
    }
    fact = facts_add (&job->facts, FACT_REPORTED, rank);
    fact->report = status->report;
    fact->first = true;
    EACH_PLACE (other, job)
        if (place_has_ended (other))
            fact->first = false;
    p->life.ago_ms = life->ago_ms;
    switch (p->phase) {
        case PLACE_BEGINS: _take_unbegun (job, p, status); break;
        case PLACE_RUNS: _take_end (job, p, status, &status->report); break;
        case PLACE_WAITS: rank->leaves = false; break;
        case PLACE_KEPT:
            if (rank->cannot)
                place_forbid (p, PLACE_CANNOT);
            break;
        case PLACE_ENDED:
            /* It was lost, and has ended by itself. */
            if (report_is_killed (&rank->end.report) && !report_is_killed (&status->report)
                && status->report.kind != EXIT_REPORT_STOPPED)
                _note_end (job, rank, status, &status->report);
            break;
    }
}

/* Inputs. */

/* It is told once until all programs have survived it. */
static void _note_asked (struct job *job, struct rank *rank, const struct life_report *life)
{
    bool had = rank->asked;
    struct fact *fact;

    rank->asked = life->asked_signal;
    if (had && !rank->asked && job->requeue.saves == NEVER)
        job->asked_told = job_is_asked (job);
    if (!rank->asked || job->asked_told)
        return;
    job->asked_told = true;
    fact = facts_add (&job->facts, FACT_ASKED, rank);
    fact->asked_signal = life->asked_signal;
    fact->step = job->budget.step;
}

static void _take_status (struct job *job, struct rank *rank, const struct status *status)
{
    _note_status (job, rank, status);
    /* The training step that comes with the end counts, too. */
    ledger_look (job);
    if (status->ended)
        _take_report (job, rank, status);
    else
        _note_asked (job, rank, &status->life);
    ledger_look (job);
}

void job_status (struct job *job, int64_t now, struct rank *rank, const struct status *status)
{
    _set_time (job, now);
    _take_status (job, rank, status);
}

void job_absent (struct job *job, int64_t now, struct rank *rank, int ms, int64_t heard)
{
    const struct place *p = rank->place;

    _set_time (job, now);
    rank->heard = moment_last (rank->heard, heard);
    if (rank_is_supervised (rank) && (!p || place_runs (p) || p->life.number < 0))
        finish_note_end (job, rank, now, NULL, 0);
    /* What it was told is forgotten if tf-rendezvous is killed. */
    if (p && p->phase == PLACE_ENDED && !rank->lost)
        job->left = moment_first (job->left, now);
    absence_begin (job, rank, ms);
}

void job_returned (struct job *job, int64_t now, struct rank *rank, const struct status *status)
{
    _set_time (job, now);
    absence_end (job, rank);
    rank->told = (struct goal){ .life = GOAL_UNTOLD, .code = GOAL_OWN_CODE };
    _take_status (job, rank, status);
}

void job_slurm (struct job *job, int64_t now, const struct slurm_job *answer)
{
    _set_time (job, now);
    requeue_take (job, answer);
}

/* The end. */

static void _tell_last (struct job *job, enum fact_kind kind)
{
    struct fact *fact;

    job->beat = NEVER;
    ledger_close (job);
    job->end_told = true;
    requeue_close (job);
    fact = facts_add (&job->facts, kind, NULL);
    fact->ledger = &job->ledger;
    fact->runs = job->requeue.before.runs > 0 ? &job->requeue.all : NULL;
    fact->left = budget_left (job);
    finish_name_killed (job, fact);
    if (kind == FACT_CUT) {
        fact->requeue = job->requeue.saves != NEVER ? REQUEUE_FAILED : REQUEUE_NOT_ASKED;
        return;
    }
    fact->requeue = requeue_verdict (job);
    fact->cause = job->finish.cause;
    fact->learnt = watchdog_learn (job);
    fact->waited = finish_waited (job);
    requeue_decide (job);
}

static void _tell_end (struct job *job)
{
    if (job->end_told)
        return;
    EACH_RANK (r, job)
        if (rank_is_supervised (r))
            return;
    _tell_last (job, FACT_ENDED);
}

/* The kernel has closed its supervisor's connection, or it was about to end: it was killed with its step. */
static bool _is_killed (const struct rank *rank)
{
    return rank->asked || (rank->away != NEVER && rank->absent_ms != JOB_BROKEN_MS);
}

static bool _is_at_its_end (const struct rank *rank)
{
    return rank->lost || (rank->place ? place_has_ended (rank->place) : rank->released);
}

/* The signal by which Slurm or the user has asked a task to end, and so the step; or 0. */
static int _asked_signal (const struct job *job)
{
    EACH_RANK (r, job) {
        int asked = _is_at_its_end (r) ? r->end.asked_signal : r->asked;

        if (asked)
            return asked;
    }
    return 0;
}

/*
 * srun has seen the end of every task, and this process of some; or its user has interrupted it, and is still
 * there. What Slurm ends is cancelled, and nobody waits for more.
 */
static bool _is_settled (const struct job *job, int asked)
{
    bool any = asked;

    EACH_RANK (r, job) {
        if (!_is_at_its_end (r) && r->away == NEVER && !r->asked)
            return false;
        any = any || (_is_at_its_end (r) && !r->lost && !r->replaced_by);
    }
    return any && (asked == 0 || asked == SIGINT);
}

/* srun has ended: what runs was killed with its step, or is lost. */
static void _cut_rank (struct job *job, struct rank *r, bool settled, int asked)
{
    struct place *p = r->place;
    bool over = settled ? _is_at_its_end (r) : !rank_runs (r);

    /* What is over may never have begun. What is not ends now, unless its connection ended before. */
    if (over ? r->end.nth == 0 : r->away == NEVER)
        finish_note_end (job, r, job->now, NULL, 0);
    if (over)
        return;
    r->cut = _is_killed (r);
    r->lost = !r->cut;
    if (r->cut) {
        r->end.asked_signal = asked;
        r->alive = false;
        if (p)
            p->phase = PLACE_ENDED;
    }
    /* What is lost has not failed, as far as is known. */
    r->end.report = r->cut || settled ? report_killed : report_stopped;
}

void job_cut (struct job *job, int64_t now)
{
    int asked = _asked_signal (job);
    bool settled = _is_settled (job, asked);

    _set_time (job, now);
    /* The last report may have come together with srun's end. */
    _tell_end (job);
    if (job->end_told)
        return;
    EACH_RANK (r, job)
        _cut_rank (job, r, settled, asked);
    _tell_last (job, settled ? FACT_ENDED : FACT_CUT);
}

/* Spares are not needed any more. */
static void _release_spares (struct job *job)
{
    if (!work_is_over (job))
        return;
    EACH_RANK (r, job)
        if (!r->place && rank_is_supervised (r)) {
            r->released = true;
            finish_note_end (job, r, job->now, NULL, 0);
        }
}

static void _beat (struct job *job)
{
    struct fact *fact;

    if (job->now < job->beat)
        return;
    job->beat = job->now + HEARTBEAT_MS;
    fact = facts_add (&job->facts, FACT_HEARTBEAT, NULL);
    fact->step = job->budget.step;
    fact->seconds = (int)((job->run - job->budget.step_at) / SECOND_MS);
    fact->left = budget_left (job);
}

void job_time (struct job *job, int64_t now)
{
    _set_time (job, now);
    absence_look_at_suspension (job);
    absence_look (job);
    absence_note_silence (job);
    restarts_replace_silent (job);
    if (!job->suspended)
        absence_check (job);
    /* Those that are lost are not waited for any more. */
    absence_look (job);
    watchdog_check (job);
    unanswered_check (job);
    tracebacks_check (job);
    requeue_check (job);
    restarts_act (job);
    _release_spares (job);
    _tell_end (job);
    _beat (job);
    ledger_look (job);
    job->owed_code = goals_owed_code (job);
}

int64_t job_due (const struct job *job)
{
    const struct finish *f = &job->finish;
    int64_t run =
        moment_first (moment_ahead (f->grace_over, job->run), moment_ahead (f->failure_over, job->run));
    int64_t next = moment_first (job_when (job, moment_first (run, restarts_due (job))), absence_due (job));

    next = moment_first (next, moment_first (watchdog_due (job), tracebacks_due (job)));
    next = moment_first (next, requeue_due (job));
    return moment_first (next, moment_first (job->unanswered.due, job->beat));
}
