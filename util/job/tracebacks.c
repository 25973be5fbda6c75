/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "tracebacks.h"

#include <string.h>

#include "place.h"

#define AGE_MS 60000

static bool _has_traceback (const struct rank *rank)
{
    return rank->traceback.text[0] != '\0';
}

/* A program that was ended by a signal may have caught the exception; SIGABRT is what it ends itself by. */
bool traceback_has_ended (const struct rank *rank)
{
    const struct exit_report *report = &rank->end.report;
    bool by_itself = report->kind == EXIT_REPORT_EXIT || report->number == SIGABRT;

    return rank_takes_part (rank) && _has_traceback (rank) && by_itself && exit_report_failed (report);
}

int64_t traceback_failed_at (const struct rank *rank)
{
    int64_t at = rank->end.at;

    return traceback_has_ended (rank) ? moment_first (rank->traceback.at, at) : at;
}

bool traceback_is_of_connection (const struct rank *rank)
{
    const struct failure_text *failure = rank->end.failure;

    if (_has_traceback (rank))
        return rank->traceback.lost;
    return failure && failure->cause.kind == CAUSE_CONNECTION;
}

bool traceback_is_earlier (const struct rank *a, const struct rank *b)
{
    int64_t one = traceback_failed_at (a), other = traceback_failed_at (b);

    return one < other || (one == other && end_is_before (&a->end, &b->end));
}

struct rank *tracebacks_first (struct rank *rank, int tasks, const struct rank *failed)
{
    bool hung = failed->end.report.kind == EXIT_REPORT_HUNG;
    bool last = hung || traceback_is_of_connection (failed);
    int64_t before = last ? NEVER : traceback_failed_at (failed);
    struct rank *first = NULL;

    for (struct rank *r = rank; r < rank + tasks; r++) {
        const struct place *p = r->place;

        if (rank_takes_part (r) && _has_traceback (r) && !r->traceback.lost
            && !(place_has_ended (p) && report_is_success (&r->end.report)) && r->traceback.at < before
            && (!first || r->traceback.at < first->traceback.at))
            first = r;
    }
    return first;
}

void tracebacks_tell_first (struct job *job, const struct rank *failed)
{
    struct rank *first = tracebacks_first (job->rank, job->tasks, failed);
    struct fact *fact;

    if (!first || first == failed || first->traceback.told)
        return;
    first->traceback.told = true;
    fact = facts_add (&job->facts, FACT_TRACEBACK, first);
    fact_name (fact, failed, job->tasks);
}

void tracebacks_take (struct job *job, struct rank *rank, const struct signs *signs)
{
    if (!rank_runs (rank) || signs->life != rank->place->life.number)
        return;
    if (strcmp (rank->traceback.text, signs->traceback) != 0)
        rank->traceback.at = job->now - signs->traceback_ms;
    strcpy (rank->traceback.text, signs->traceback);
    rank->traceback.lost = signs->traceback_lost;
    if (job->phase == JOB_GATHERS && job->gather.decided)
        tracebacks_tell_first (job, job->gather.first);
}

static int64_t _tells_at (const struct job *job, const struct rank *rank)
{
    bool awaited = rank_runs (rank) && _has_traceback (rank) && !rank->traceback.told;

    return awaited && !job->suspended ? rank->traceback.at + AGE_MS : NEVER;
}

void tracebacks_check (struct job *job)
{
    EACH_RANK (r, job)
        if (job->now >= _tells_at (job, r)) {
            r->traceback.told = true;
            facts_add (&job->facts, FACT_TRACEBACK, r);
        }
}

int64_t tracebacks_due (const struct job *job)
{
    int64_t due = NEVER;

    EACH_RANK (r, job)
        due = moment_first (due, _tells_at (job, r));
    return due;
}
