/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "finish.h"

#include <signal.h>
#include <stdlib.h>

#include "common/second.h"
#include "place.h"

/* The last of srun's --wait, before it kills all tasks. */
#define WAIT_SPARE_MS 1000

static const struct exit_report refused = { .kind = EXIT_REPORT_UNSTARTED,
                                            .number = EXIT_REPORT_REFUSED_CODE };

/* An end. */

void finish_note_end (struct job *job, struct rank *rank, int64_t at, const struct failure_text *failure,
                      int asked_signal)
{
    struct end *end = &rank->end;

    end->at = at;
    end->nth = ++job->ends;
    end->elapsed_ms = moment_last (at, job->launched) - job->launched;
    end->asked_signal = asked_signal;
    free (end->failure);
    end->failure = NULL;
    if (failure && failure->source != FAILURE_TEXT_NONE && (end->failure = malloc (sizeof (*failure))))
        *end->failure = *failure;
}

/* Who is left. */

struct left {
    bool awaited, graced; /* one of these */
};

static struct left _left (const struct job *job)
{
    struct left left = { .awaited = false };

    EACH_PLACE (p, job)
        if (!place_has_ended (p)) {
            left.awaited = left.awaited || p->duty.awaited;
            left.graced = left.graced || p->duty.graced;
        }
    return left;
}

bool finish_stops (const struct job *job, const struct place *p)
{
    bool failed = job->finish.cause == FINISH_TASK_FAILED;
    bool failure_over = job->run >= job->finish.failure_over, grace_over = job->run >= job->finish.grace_over;
    struct left left = { .awaited = false };

    if (job->phase != JOB_FINISHES || place_has_ended (p))
        return false;
    /* An auxiliary task serves these. */
    if (p->beside)
        left = _left (job);
    if (left.graced || (failed && left.awaited))
        return failed ? failure_over : grace_over;
    if (failed && p->duty.awaited)
        return failure_over;
    return !p->duty.graced || grace_over;
}

bool finish_failed (const struct job *job)
{
    int failed = 0, awaited = 0;

    if (job->finish.cause == FINISH_PS_FAILED || job->finish.cause == FINISH_TASK_FAILED)
        return true;
    if (job->phase != JOB_FINISHES || job->asked_signal)
        return false;
    EACH_PLACE (p, job)
        if (p->duty.awaited) {
            /* One that is lost may have done its work; not so a chief. */
            bool counts = !p->rank->lost || job->finish.cause == FINISH_CHIEF;

            awaited++;
            failed += counts && exit_report_failed (&p->rank->end.report);
        }
    return job->finish.cause == FINISH_WORKERS ? failed == awaited : failed > 0;
}

/* What is told. */

/* SIGTERM probably came from the user, and is about to end the other tasks, too. */
static bool _has_failed_by_itself (const struct place *p)
{
    const struct exit_report *report = &p->rank->end.report;

    return exit_report_failed (report) && (p->life.number >= 0 || p->rank->cannot)
           && !end_was_asked (&p->rank->end)
           && !(report->kind == EXIT_REPORT_SIGNAL && report->number == SIGTERM);
}

/* With a ps the others can go on; but a task that waits for one which never came waits for ever. */
static void _tell_missed (struct job *job, const struct place *p)
{
    if (job->miss_told || job->requeue.saves != NEVER || place_is_apart (p) || job->config->restart.times > 0
        || !_has_failed_by_itself (p))
        return;
    job->miss_told = true;
    facts_add (&job->facts, FACT_MISSED, p->rank)->report = p->rank->end.report;
}

void finish_name_killed (struct job *job, struct fact *fact)
{
    EACH_RANK (r, job) {
        if (!r->end.report.killed || r->end.kill_told)
            continue;
        r->end.kill_told = true;
        /* With a grace of 0 none is asked to end. */
        if (job->config->stop_grace > 0)
            fact_name (fact, r, job->tasks);
        if (r->end.report.killed_after > fact->seconds)
            fact->seconds = r->end.report.killed_after;
    }
}

/* The job is over. */

/*
 * A grace period ends so early that a task which is stopped then has its own one (--tf-grace) before srun's
 * --wait is over.
 */
static int _before_wait_ends (const struct job *job, int seconds)
{
    const struct rendezvous_config *c = job->config;
    int64_t from = moment_first (job->left, job->now), most;

    if (c->wait == 0)
        return seconds;
    most = (from + (c->wait - c->stop_grace) * SECOND_MS - WAIT_SPARE_MS - job->now) / SECOND_MS;
    return most < 0 ? 0 : most < seconds ? (int)most : seconds;
}

static int _evaluator_grace (const struct job *job)
{
    const struct rendezvous_config *c = job->config;
    bool failed = finish_failed (job) && c->fail_grace < c->eval_grace;

    /* They were asked to save when the others were, and the job's time is nearly over. */
    if (job->requeue.saves != NEVER)
        return 0;
    return _before_wait_ends (job, failed ? c->fail_grace : c->eval_grace);
}

static void _tell_over (struct job *job, int grace)
{
    struct fact *fact =
        facts_add (&job->facts, FACT_OVER, job->finish.place ? job->finish.place->rank : NULL);

    fact->cause = job->finish.cause;
    fact->seconds = grace;
    EACH_PLACE (p, job)
        fact->moves = fact->moves || (p->duty.works && place_runs (p) && !p->rank->watch.hung);
}

static void _tell_grace (struct job *job)
{
    struct fact *fact = facts_add (&job->facts, FACT_GRACE, NULL);

    fact->seconds = _evaluator_grace (job);
    fact->failed = finish_failed (job);
    EACH_PLACE (p, job)
        /* One whose rank is about to be lost does not use it. */
        if (fact->seconds > 0 && p->duty.graced && !place_has_ended (p) && job->run < p->rank->away
            && !p->duty.awaited && (place_runs (p) || p->future == PLACE_MAY_BEGIN))
            fact_name (fact, p->rank, job->tasks);
}

/*
 * Only what goes on when the job is over is restarted: what has grace, and what serves that; and nothing if
 * places have changed, and all have not begun again since then.
 */
static void _end_restarts (struct job *job)
{
    bool graced = _left (job).graced;

    EACH_PLACE (p, job)
        if (!p->duty.graced && !(p->beside && graced))
            place_forbid (p, PLACE_DONE);
        else if (job->gather.everyone)
            place_forbid (p, PLACE_CANNOT);
        else if (p->phase == PLACE_WAITS && p->life.due > job->finish.grace_over)
            place_forbid (p, PLACE_LATE);
}

static void _finish (struct job *job, enum finish_cause cause, struct place *p)
{
    int grace = _before_wait_ends (job, job->config->fail_grace);

    job->phase = JOB_FINISHES;
    job->finish.cause = cause;
    job->finish.place = p;
    if (p)
        job->finish.report = p->rank->end.report;
    _tell_over (job, grace);
    if (cause == FINISH_TASK_FAILED && !job->asked_signal)
        job->finish.failure_over = job->run + grace * SECOND_MS;
    job->finish.grace_over = job->run + _evaluator_grace (job) * SECOND_MS;
    _end_restarts (job);
    _tell_grace (job);
}

/*
 * Why the end of this place ends the job, if it does. A lost rank may return, so only a ps has failed. What
 * has never begun has not failed.
 */
static enum finish_cause _cause (const struct job *job, const struct place *p)
{
    bool failed = exit_report_failed (&p->rank->end.report)
                  && (p->rank->lost ? p->kind == RULES_PS : p->life.number >= 0);
    bool awaits = _left (job).awaited;

    if (failed && p->duty.fatal && p->kind == RULES_PS)
        return FINISH_PS_FAILED;
    if (failed && p->duty.fatal && !job->asked_signal && awaits)
        return FINISH_TASK_FAILED;
    return p->duty.awaited && !awaits ? job->aim : FINISH_NOT;
}

void finish_end (struct job *job, struct place *p, enum place_phase phase, bool lost)
{
    bool had_ended = place_has_ended (p);
    struct exit_report *report = &p->rank->end.report;
    enum finish_cause cause;

    /* The others were stopped because of that. */
    if (job->finish.place == p && job->finish.report.kind == EXIT_REPORT_HUNG && report_is_success (report))
        *report = job->finish.report;
    /* While the job may need it. Losses have been told. */
    if (!had_ended && !lost && p->beside && _has_failed_by_itself (p) && !finish_stops (job, p))
        facts_add (&job->facts, FACT_FAILED_BESIDE, p->rank)->report = *report;
    p->phase = phase;
    p->rank->lost = p->rank->lost || lost;
    if (had_ended)
        return;
    if (job->phase == JOB_FINISHES) {
        _end_restarts (job);
        return;
    }
    cause = _cause (job, p);
    if (cause != FINISH_NOT)
        _finish (job, cause, cause == FINISH_WORKERS || cause == FINISH_OTHERS ? NULL : p);
    else if (phase == PLACE_ENDED && !work_is_over (job))
        _tell_missed (job, p);
}

void finish_hang (struct job *job, struct place *p)
{
    if (job->config->stop == STOP_WHEN_AUTO && job->phase != JOB_FINISHES && !job->asked_signal)
        _finish (job, FINISH_TASK_FAILED, p);
}

void finish_refuse (struct job *job)
{
    EACH_PLACE (p, job)
        if (p->phase != PLACE_ENDED) {
            finish_note_end (job, p->rank, job->now, NULL, 0);
            p->rank->end.report = refused;
            p->phase = PLACE_ENDED;
        }
    _finish (job, FINISH_REFUSED, NULL);
}

int finish_waited (const struct job *job)
{
    int wait = job->config->wait;

    return job->left != NEVER && job->now >= job->left + wait * SECOND_MS - WAIT_SPARE_MS ? wait : 0;
}
