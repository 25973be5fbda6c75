/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "tracebacks.h"

#include <string.h>

#include "job.h"

#define AGE_MS 60000

struct rank *tracebacks_first (struct rank *rank, int tasks, const struct rank *failed,
                               const struct exit_report *report)
{
    bool last = report->kind == EXIT_REPORT_HUNG || ends_lost_connection (failed);
    int64_t before = last ? NEVER : ends_failed_at (failed);
    struct rank *first = NULL;

    for (struct rank *r = rank; r < rank + tasks; r++) {
        const struct exit_report *end = &r->end.report;
        bool succeeded = rank_has_ended (r) && end->kind == EXIT_REPORT_EXIT && end->number == 0;

        if (rank_takes_part (r) && traceback_is_known (&r->traceback) && !r->traceback.lost && !r->replaced_by
            && !succeeded && r->traceback.at < before && (!first || r->traceback.at < first->traceback.at))
            first = r;
    }
    return first;
}

static void _tell_first (struct job *job, const struct rank *failed, const struct exit_report *report)
{
    struct rank *first = tracebacks_first (job->rank, job->tasks, failed, report);
    struct fact *fact;

    if (!first || first == failed || first->traceback.told)
        return;
    first->traceback.told = true;
    fact = facts_add (&job->facts, FACT_TRACEBACK, first);
    fact_name (fact, failed, job->tasks);
}

void tracebacks_take (struct job *job, struct rank *rank, const struct signs *signs)
{
    if (rank->state != RANK_RUNS || signs->life != rank->life.number)
        return;
    if (strcmp (rank->traceback.text.text, signs->traceback.text) != 0)
        rank->traceback.at = job->now - signs->traceback_ms;
    rank->traceback.text = signs->traceback;
    rank->traceback.lost = signs->traceback_lost;
    if (job->decided)
        _tell_first (job, job->decided, &job->decided->end.report);
}

static int64_t _tells_at (const struct job *job, const struct rank *rank)
{
    bool awaited = rank->state == RANK_RUNS && traceback_is_known (&rank->traceback) && !rank->traceback.told;

    return awaited && !job->suspended ? rank->traceback.at + AGE_MS : NEVER;
}

void tracebacks_check (struct job *job)
{
    for (struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        if (job->now >= _tells_at (job, rank)) {
            rank->traceback.told = true;
            facts_add (&job->facts, FACT_TRACEBACK, rank);
        }
}

int64_t tracebacks_due (const struct job *job)
{
    int64_t due = NEVER;

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        due = moment_first (due, _tells_at (job, rank));
    return due;
}

void tracebacks_decided (struct job *job, const struct rank *failed, const struct exit_report *report)
{
    job->decided = failed;
    _tell_first (job, failed, report);
}
