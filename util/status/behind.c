/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "behind.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/amount.h"
#include "common/printable.h"

static bool _counts (const struct overview_rank *r)
{
    return r->state == OVERVIEW_RANK_RUNS && r->step > 0 && r->told_age >= 0 && r->role;
}

/* The first to tell comes first; of the same second, the highest step. */
static int _compare (const void *one, const void *other)
{
    const struct overview_rank *a = *(const struct overview_rank *const *)one,
                               *b = *(const struct overview_rank *const *)other;

    if (a->told_age != b->told_age)
        return a->told_age > b->told_age ? -1 : 1;
    return a->step > b->step ? -1 : a->step < b->step;
}

struct pair {
    const struct overview_rank *slow, *ahead;
};

/* In the order in which they told: the highest step before, and what is farthest below it. */
static struct pair _find (const struct overview_rank *const *order, int count, int most)
{
    struct pair found = { NULL, NULL };
    const struct overview_rank *highest = NULL;

    for (int i = 0; i < count; i++) {
        if (highest && highest->step - order[i]->step > most) {
            most = highest->step - order[i]->step;
            found = (struct pair){ order[i], highest };
        }
        if (!highest || order[i]->step > highest->step)
            highest = order[i];
    }
    return found;
}

bool behind_text (const struct overview *o, const struct overview_rank *rank, char *buf, size_t size)
{
    int ranks = o->rows, second = (o->rate + 999) / 1000;
    const struct overview_rank **order = calloc ((size_t)ranks + 1, sizeof (const struct overview_rank *));
    struct amount_text step, before;
    struct pair pair;
    int count = 0;

    for (int i = 0; order && i < ranks; i++)
        if (_counts (&rank[i]))
            order[count++] = &rank[i];
    if (count > 0)
        qsort (order, (size_t)count, sizeof (const struct overview_rank *), _compare);
    pair = _find (order, count, BEHIND_STEPS + second);
    free (order);
    if (!pair.slow)
        return false;
    snprintf (buf, size, "%.64s %d on %.64s is slow: step %s; %.64s %d reported step %s before",
              pair.slow->role, pair.slow->index, pair.slow->node ? pair.slow->node : "?",
              amount_number (pair.slow->step, &step), pair.ahead->role, pair.ahead->index,
              amount_number (pair.ahead->step, &before));
    printable_make_line (buf);
    return true;
}
