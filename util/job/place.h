/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is known of a place, of a rank, or of the step, at this moment.
 */
#ifndef TF_PLACE_H
#define TF_PLACE_H

#include <signal.h>
#include <stddef.h>

#include "model.h"
#include "protocol/restart_rule.h"

/* Ends that no supervisor has told. */
static const struct exit_report report_killed = { .kind = EXIT_REPORT_SIGNAL, .number = SIGKILL },
                                report_stopped = { .kind = EXIT_REPORT_STOPPED },
                                report_unstarted = { .kind = EXIT_REPORT_UNSTARTED, .number = 1 };

/* It is not in the cluster of the others: an evaluator, or an auxiliary task. */
static inline bool place_is_apart (const struct place *p)
{
    return p->beside || p->kind == RULES_EVALUATOR;
}

/* A process of its life runs, or may begin to. */
static inline bool place_runs (const struct place *p)
{
    return (p->phase == PLACE_RUNS || p->phase == PLACE_BEGINS) && !p->rank->lost;
}

static inline bool place_waits (const struct place *p)
{
    return p->phase == PLACE_WAITS && !p->rank->lost;
}

/* A process of it may run, or it has not told that none does. */
static inline bool place_is_alive (const struct place *p)
{
    return place_runs (p) || (place_waits (p) && p->rank->leaves);
}

/* Others see that it has ended. If its rank is lost, that may come back. */
static inline bool place_has_ended (const struct place *p)
{
    return p->phase >= PLACE_KEPT || p->rank->lost;
}

/* The job finishes, or has nobody to wait for. */
static inline bool work_is_over (const struct job *job)
{
    EACH_PLACE (p, job)
        if (!place_has_ended (p))
            return job->phase == JOB_FINISHES;
    return true;
}

/* Slurm or the user has asked a task that runs, or the step, to end. */
static inline bool job_is_asked (const struct job *job)
{
    EACH_PLACE (p, job)
        if (p->rank->asked && !p->rank->lost)
            return true;
    return job->asked_signal;
}

/* Nothing begins for it any more. */
static inline void place_forbid (struct place *p, enum place_future why)
{
    if (why > p->future)
        p->future = why;
}

/* Of two ends at the same time the first one has the lower number. */
static inline bool end_is_before (const struct end *a, const struct end *b)
{
    return a->at < b->at || (a->at == b->at && a->nth < b->nth);
}

/*
 * It ended as Slurm or the user had asked it to: by that signal, or by SIGKILL after it. A shell exits with
 * 128 and the number of the signal that ended its last command.
 */
static inline bool end_was_asked (const struct end *end)
{
    int asked = end->asked_signal, by = end->report.number - (end->report.kind == EXIT_REPORT_EXIT ? 128 : 0);

    return (asked == SIGTERM || asked == SIGINT || asked == SIGQUIT || asked == SIGHUP)
           && (by == asked || by == SIGKILL) && !end->report.out_of_memory;
}

/* The program ended by itself, with exit code 0. */
static inline bool report_is_success (const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_EXIT && report->number == 0;
}

static inline bool report_is_killed (const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_SIGNAL && report->number == SIGKILL;
}

/* Its supervisor is there, or may come back in time; and there is something left for it to do, or to tell. */
static inline bool rank_is_supervised (const struct rank *rank)
{
    return !rank->lost && (rank->place ? rank->place->phase != PLACE_ENDED || rank->alive : !rank->released);
}

/* Its place, or the one that it lost to a spare; or NULL. */
static inline struct place *rank_last_place (const struct rank *rank)
{
    while (rank->replaced_by)
        rank = rank->replaced_by;
    return rank->place;
}

/* The role and index that others know it by. */
static inline const char *rank_role (const struct rank *rank)
{
    return rank_last_place (rank) ? rank_last_place (rank)->role : rank->role;
}

static inline int rank_index (const struct rank *rank)
{
    return rank_last_place (rank) ? rank_last_place (rank)->index : rank->index;
}

/* So often its place was restarted, until it lost that. */
static inline int rank_restarts (const struct rank *rank)
{
    int life = rank->place ? rank->place->life.number : rank->has;

    return life < 0 ? 0 : life;
}

/* A process of its place's life runs, or may begin to. */
static inline bool rank_runs (const struct rank *rank)
{
    return rank->place && place_runs (rank->place);
}

/* Its work is watched under --tf-watchdog. */
static inline bool rank_works (const struct rank *rank)
{
    return rank->place && rank->place->duty.works;
}

/* Others wait for it, or may die of its end; of those that do not work that is a ps. */
static inline bool rank_takes_part (const struct rank *rank)
{
    return rank_works (rank) || (rank->place && rank->place->kind == RULES_PS);
}

/* It is lost, or a spare has its place because it was. */
static inline bool rank_was_lost (const struct rank *rank)
{
    return rank->lost || (rank->replaced_by && rank->because == FACT_IS_LOST);
}

static inline bool rank_is_spare (const struct rank *rank)
{
    return !rank->place && !rank->replaced_by;
}

/* How many restarts are left. */
static inline int budget_left (const struct job *job)
{
    const struct restart_rule *rule = &job->config->restart;
    int all = restart_rule_total (rule) - job->budget.used, row = rule->times - job->budget.row;

    return all < row ? all : row;
}

/* When job->run will be there, in job->now; NEVER while it stands still. */
static inline int64_t job_when (const struct job *job, int64_t run)
{
    return run == NEVER || job->suspended ? NEVER : job->now + (run - job->run);
}

#endif
