/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ends.h"

#include "place.h"
#include "protocol/restart_rule.h"
#include "tracebacks.h"

const struct rank *ends_first_to_fail (const struct rank *rank, int tasks)
{
    const struct rank *first = NULL, *without_lost = NULL;
    bool told = false;

    for (const struct rank *r = rank; r < rank + tasks; r++) {
        bool lost = traceback_is_of_connection (r);

        if (!r->place || !place_has_ended (r->place) || !exit_report_failed (&r->place->end.report))
            continue;
        told = told || (!lost && traceback_has_ended (r));
        if (!first || traceback_is_earlier (r, first))
            first = r;
        if (!lost && (!without_lost || traceback_is_earlier (r, without_lost)))
            without_lost = r;
    }
    return told ? without_lost : first;
}

bool ends_has_saved (const struct end *end)
{
    return end->asked_signal != 0 && restart_rule_saved (&end->report);
}

bool ends_are_cancelled (const struct rank *rank, int tasks)
{
    const struct rank *first = ends_first_to_fail (rank, tasks);

    return first && end_was_asked (&first->place->end);
}
