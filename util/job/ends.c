/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ends.h"

#include "place.h"
#include "protocol/restart_rule.h"
#include "tracebacks.h"

/* Shorter steps are tests, and programs that print. */
#define LONG_MS 60000

const struct rank *ends_first_to_fail (const struct rank *rank, int tasks)
{
    const struct rank *first = NULL, *without_lost = NULL;
    bool told = false;

    for (const struct rank *r = rank; r < rank + tasks; r++) {
        bool lost = traceback_is_of_connection (r);

        if (!r->place || !place_has_ended (r->place) || !exit_report_failed (&r->end.report))
            continue;
        told = told || (!lost && traceback_has_ended (r));
        if (!first || traceback_is_earlier (r, first))
            first = r;
        if (!lost && (!without_lost || traceback_is_earlier (r, without_lost)))
            without_lost = r;
    }
    first = told ? without_lost : first;
    /* A spare that has not begun has the end of the task that it replaces. */
    while (first && first->replaces && first->end.nth == first->replaces->end.nth)
        first = first->replaces;
    return first;
}

bool ends_has_saved (const struct end *end)
{
    return end->asked_signal != 0 && restart_rule_saved (&end->report);
}

bool ends_are_cancelled (const struct rank *rank, int tasks)
{
    const struct rank *first = ends_first_to_fail (rank, tasks);

    return first && end_was_asked (&first->end);
}

/* Has each trained alone? */

/* Auxiliary tasks, evaluators and spares are in no dictionary of the others. */
bool alone_counts (const struct rank *rank)
{
    return rank->place && !place_is_apart (rank->place);
}

bool alone_has_met (const struct rank *rank, int tasks, const struct life_peers *peers)
{
    for (const struct address *peer = peers->address; peer < peers->address + peers->count; peer++) {
        if (address_is_loopback (peer))
            return true;
        for (int i = 0; i < tasks; i++)
            if (address_equal (peer, &rank[i].address) || address_equal (peer, &rank[i].connected))
                return true;
    }
    return false;
}

bool alone_is_likely (const struct rank *rank, int tasks)
{
    int ran_long = 0;

    for (const struct rank *last = rank + tasks; rank < last; rank++) {
        if (!alone_counts (rank))
            continue;
        if (rank->address_use != ADDRESS_UNUSED || exit_report_failed (&rank->end.report))
            return false;
        ran_long += rank->end.elapsed_ms > LONG_MS;
    }
    return ran_long > 1;
}
