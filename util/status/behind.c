/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "behind.h"

#include <stdio.h>

#include "common/amount.h"
#include "common/printable.h"

static bool _counts (const struct overview_rank *r)
{
    return r->state == OVERVIEW_RANK_RUNS && r->step > 0 && r->told_age >= 0 && r->role;
}

/* As far as it may be now. Ages are whole seconds, and a step takes a moment to be told. */
static int64_t _at_most (const struct overview *o, const struct overview_rank *r)
{
    return r->step + ((int64_t)r->told_age + BEHIND_SECONDS) * o->rate / 1000;
}

bool behind_text (const struct overview *o, const struct overview_rank *rank, char *buf, size_t size)
{
    const struct overview_rank *slow = NULL, *ahead = NULL;
    struct amount_text step, other;

    for (const struct overview_rank *r = rank; r < rank + o->rows; r++) {
        if (!_counts (r))
            continue;
        if (!slow || _at_most (o, r) < _at_most (o, slow))
            slow = r;
        if (!ahead || r->step > ahead->step)
            ahead = r;
    }
    if (!slow || ahead->step - _at_most (o, slow) <= BEHIND_STEPS)
        return false;
    snprintf (buf, size, "%.64s %d on %.64s is slow: step %s; %.64s %d: step %s", slow->role, slow->index,
              slow->node ? slow->node : "?", amount_number (slow->step, &step), ahead->role, ahead->index,
              amount_number (ahead->step, &other));
    printable_make_line (buf);
    return true;
}
