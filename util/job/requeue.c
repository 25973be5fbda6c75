/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "requeue.h"

#include <signal.h>
#include <string.h>

#include "common/second.h"
#include "place.h"
#include "protocol/restart_rule.h"
#include "restarts.h"

/* Slurm is asked in each half of SECONDS, but not more often, nor less, than this. */
#define ASK_LEAST_MS 10000
#define ASK_MOST_MS 600000
/* An answer that took longer is of a time before the job was suspended. */
#define ANSWER_MS 60000

_Static_assert ((int)LEDGER_ACCOUNTS == PAST_RUNS_ACCOUNTS, "past runs have the ledger's accounts");

/* The job's end. */

int64_t requeue_due (const struct job *job)
{
    return job->suspended || job->phase == JOB_FINISHES ? NEVER : job->requeue.ask;
}

void requeue_check (struct job *job)
{
    if (job->now < requeue_due (job))
        return;
    job->requeue.ask = NEVER;
    job->requeue.asked = job->now;
    facts_add (&job->facts, FACT_ASKS_SLURM, NULL);
}

/* Once for each reason. */
static void _tell_obstacle (struct job *job, enum slurm_job_obstacle obstacle, int64_t left)
{
    struct fact *fact;

    if (job->requeue.told & 1 << obstacle)
        return;
    job->requeue.told |= 1 << obstacle;
    fact = facts_add (&job->facts, FACT_NO_REQUEUE, NULL);
    fact->obstacle_of_job = obstacle;
    fact->seconds = (int)(left / SECOND_MS);
}

static void _save (struct job *job)
{
    struct requeue *r = &job->requeue;
    struct fact *fact = facts_add (&job->facts, FACT_SAVE, NULL);

    fact->seconds = (int)((r->end - job->now) / SECOND_MS);
    r->saves = job->now;
    r->until = job->run + (r->end - job->now) / 4 * 3;
    job->asked_told = true;
    restarts_ask (job, SIGTERM, 0);
}

void requeue_take (struct job *job, const struct slurm_job *answer)
{
    struct requeue *r = &job->requeue;
    int64_t before = job->config->requeue * SECOND_MS, left;

    if (r->saves != NEVER || job->phase == JOB_FINISHES)
        return;
    if (job->now - r->asked > ANSWER_MS) {
        r->ask = job->now;
        return;
    }
    if (answer->obstacle != SLURM_JOB_SILENT && !r->known) {
        r->known = true;
        r->before = answer->runs;
    }
    if (answer->obstacle != SLURM_JOB_GOES_ON)
        _tell_obstacle (job, answer->obstacle, 0);
    if (answer->obstacle == SLURM_JOB_NO_SCRIPT || answer->obstacle == SLURM_JOB_FORBIDS)
        return;
    r->ask = job->now + moment_last (ASK_LEAST_MS, moment_first (before / 2, ASK_MOST_MS));
    if (answer->obstacle == SLURM_JOB_ENDLESS)
        r->end = NEVER;
    else if (answer->obstacle == SLURM_JOB_GOES_ON)
        r->end = job->now + answer->left * SECOND_MS;
    if (r->end == NEVER)
        return;
    left = r->end - job->now;
    if (left > before) {
        r->far = true;
        r->ask = moment_first (r->ask, r->end - before);
    } else if (!r->far)
        _tell_obstacle (job, SLURM_JOB_GOES_ON, left);
    /* Slurm or the user may be first: requeue_decide () tells that if they save. */
    else if (!job_is_asked (job))
        _save (job);
}

/* The end of a run. */

static void _add_seconds (int *sum, int64_t ms)
{
    *sum += (int)((ms + SECOND_MS / 2) / SECOND_MS);
}

void requeue_close (struct job *job)
{
    struct past_runs *all = &job->requeue.all;
    const struct ledger *l = &job->ledger;

    *all = job->requeue.before;
    all->runs++;
    all->step = job->budget.step;
    for (int i = 0; i < LEDGER_ACCOUNTS; i++)
        _add_seconds (&all->seconds[i], l->ms[i]);
    _add_seconds (&all->first, l->first_ms);
    all->repeated_steps = (int)moment_first (all->repeated_steps + l->repeated_steps, INT32_MAX);
    all->restarts += l->restarts;
    all->says = all->says || l->says;
}

/*
 * Its work is saved, as far as its end tells. A program that SIGTERM has ended, or that was stopped for a
 * restart, goes on from its last checkpoint.
 */
static bool _has_saved (const struct exit_report *report)
{
    return report_is_success (report) || restart_rule_saved (report) || report->kind == EXIT_REPORT_STOPPED
           || (report->kind == EXIT_REPORT_SIGNAL && report->number == SIGTERM);
}

bool requeue_awaits (const struct job *job, const struct place *p)
{
    return job->aim == FINISH_NOT ? !p->beside : p->duty.awaited;
}

/* It was asked, or srun's end has cut it short. */
static bool _counts (const struct job *job, const struct place *p)
{
    return requeue_awaits (job, p) && (p->rank->end.at > job->requeue.saves || p->rank->cut);
}

/* Whenever that was. */
static bool _ended_by_ps (const struct job *job)
{
    return job->finish.cause == FINISH_PS_FAILED && job->finish.place->future != PLACE_IN_NEXT_RUN;
}

static const struct place *_unsaved (const struct job *job)
{
    EACH_PLACE (p, job)
        if (_counts (job, p) && (p->rank->lost || !_has_saved (&p->rank->end.report)))
            return p;
    return _ended_by_ps (job) ? job->finish.place : NULL;
}

/* Slurm was the first to ask the tasks, as by --signal, and one says that it has saved. */
static bool _slurm_was_first (const struct job *job)
{
    if (!job->requeue.far || !job->asked_signal)
        return false;
    EACH_PLACE (p, job)
        if (requeue_awaits (job, p) && restart_rule_saved (&p->rank->end.report))
            return true;
    return false;
}

enum requeue_verdict requeue_verdict (const struct job *job)
{
    if (job->requeue.saves == NEVER)
        return _slurm_was_first (job) ? REQUEUE_ASKED : REQUEUE_NOT_ASKED;
    if (_unsaved (job))
        return REQUEUE_FAILED;
    if (job->budget.step > job->requeue.before.step)
        return REQUEUE_GOES_ON;
    if (job->requeue.before.step > 0)
        return REQUEUE_STUCK;
    return job->run - job->launched < restarts_lasting_ms (job) ? REQUEUE_SHORT : REQUEUE_GOES_ON;
}

/* Its node was lost, or its task failed first again and again. */
static bool _is_left_out (const struct job *job, const struct rank *r)
{
    if (r->replaced_by)
        return r->because == FACT_IS_LOST || r->because == FACT_FAILS_AGAIN;
    return r->lost || (r->place && restarts_fail_again (job, r));
}

static bool _has_named_node (const struct fact *fact, const char *node)
{
    for (int i = 0; i < fact->count; i++)
        if (strcmp (fact->ranks[i].rank->node, node) == 0)
            return true;
    return false;
}

void requeue_decide (struct job *job)
{
    enum requeue_verdict verdict = requeue_verdict (job);
    const struct place *unsaved = verdict == REQUEUE_FAILED ? _unsaved (job) : NULL;
    struct fact *fact;

    if (verdict == REQUEUE_NOT_ASKED)
        return;
    fact = facts_add (&job->facts, FACT_REQUEUE, unsaved ? unsaved->rank : NULL);
    fact->requeue = verdict;
    fact->step = job->budget.step;
    fact->step_before = job->requeue.before.step;
    fact->seconds = (int)((job->run - job->launched) / SECOND_MS);
    fact->wanted = (int)(restarts_lasting_ms (job) / SECOND_MS);
    fact->runs = &job->requeue.all;
    EACH_RANK (r, job)
        if (_is_left_out (job, r) && !_has_named_node (fact, r->node))
            fact_name (fact, r, job->tasks);
}
