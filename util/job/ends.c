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

const struct rank *ends_first_to_fail (const struct rank *rank, int tasks)
{
    const struct rank *first = NULL;

    for (int i = 0; i < tasks; i++)
        if (_has_failed (&rank[i]) && (!first || ends_is_before (&rank[i].end, &first->end)))
            first = &rank[i];
    return first;
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
