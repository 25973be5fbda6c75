/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "alone.h"

/* Shorter steps are tests, and programs that print. */
#define LONG_MS 60000

/* Auxiliary tasks, evaluators and spares are in no dictionary of the others. */
bool alone_counts (const struct rank *rank)
{
    return !rank->beside && rank->kind != RULES_EVALUATOR && rank->kind != RULES_SPARE;
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
