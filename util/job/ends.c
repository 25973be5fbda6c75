/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ends.h"

#include <signal.h>
#include <stdlib.h>

#include "moment.h"
#include "protocol/restart_rule.h"
#include "rank.h"

void ends_note (struct end *end, int64_t launched, int64_t at, int nth, const struct failure_text *failure,
                int asked_signal)
{
    end->at = at;
    end->nth = nth;
    end->elapsed_ms = moment_last (at, launched) - launched;
    end->asked_signal = asked_signal;
    free (end->failure);
    end->failure = NULL;
    if (failure->source != FAILURE_TEXT_NONE && (end->failure = malloc (sizeof (*failure))))
        *end->failure = *failure;
}

bool ends_is_before (const struct end *a, const struct end *b)
{
    return a->at < b->at || (a->at == b->at && a->nth < b->nth);
}

/* A spare that is lost was not needed. */
static bool _has_failed (const struct rank *rank)
{
    return rank_has_ended (rank) && !rank->replaced_by && exit_report_failed (&rank->end.report)
           && !(rank->kind == RULES_SPARE && rank->state == RANK_LOST);
}

/* A program that was ended by a signal may have caught the exception; SIGABRT is what it ends itself by. */
static bool _exception_has_ended (const struct rank *rank)
{
    const struct exit_report *report = &rank->end.report;
    bool by_itself = report->kind == EXIT_REPORT_EXIT || report->number == SIGABRT;

    return rank_takes_part (rank) && traceback_is_known (&rank->traceback) && by_itself
           && exit_report_failed (report);
}

int64_t ends_failed_at (const struct rank *rank)
{
    return _exception_has_ended (rank) ? moment_first (rank->traceback.at, rank->end.at) : rank->end.at;
}

bool ends_lost_connection (const struct rank *rank)
{
    const struct failure_text *failure = rank->end.failure;

    if (traceback_is_known (&rank->traceback))
        return rank->traceback.lost;
    return failure && failure->cause.kind == CAUSE_CONNECTION;
}

static bool _is_earlier (const struct rank *a, const struct rank *b)
{
    int64_t one = ends_failed_at (a), other = ends_failed_at (b);

    return one < other || (one == other && ends_is_before (&a->end, &b->end));
}

bool ends_fails_before (const struct rank *a, const struct rank *b)
{
    bool lost = ends_lost_connection (a);

    if (lost != ends_lost_connection (b) && _exception_has_ended (lost ? b : a))
        return !lost;
    return _is_earlier (a, b);
}

const struct rank *ends_first_to_fail (const struct rank *rank, int tasks)
{
    const struct rank *first = NULL, *without_lost = NULL;
    bool told = false;

    for (const struct rank *r = rank; r < rank + tasks; r++) {
        bool lost = ends_lost_connection (r);

        if (!_has_failed (r))
            continue;
        told = told || (!lost && _exception_has_ended (r));
        if (!first || _is_earlier (r, first))
            first = r;
        if (!lost && (!without_lost || _is_earlier (r, without_lost)))
            without_lost = r;
    }
    return told ? without_lost : first;
}

/* A shell exits with 128 and the number of the signal that has ended its last command. */
bool ends_was_asked (const struct end *end)
{
    int asked = end->asked_signal, by = end->report.number - (end->report.kind == EXIT_REPORT_EXIT ? 128 : 0);

    return (asked == SIGTERM || asked == SIGINT || asked == SIGQUIT || asked == SIGHUP)
           && (by == asked || by == SIGKILL) && !end->report.out_of_memory;
}

bool ends_has_saved (const struct end *end)
{
    return end->asked_signal != 0 && restart_rule_saved (&end->report);
}

bool ends_are_cancelled (const struct rank *rank, int tasks)
{
    const struct rank *first = ends_first_to_fail (rank, tasks);

    return first && ends_was_asked (&first->end);
}
