/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "facts.h"

#include <stdlib.h>
#include <string.h>

static struct fact *_next (struct facts *facts)
{
    if (facts->count == facts->room) {
        int room = facts->room ? 2 * facts->room : 64;
        struct fact *more = realloc (facts->fact, (size_t)room * sizeof (*more));

        if (!more) {
            fact_clear (&facts->dropped);
            return &facts->dropped;
        }
        facts->fact = more;
        facts->room = room;
    }
    return &facts->fact[facts->count++];
}

struct fact *facts_add (struct facts *facts, enum fact_kind kind, struct rank *rank)
{
    struct fact *fact = _next (facts);

    *fact = (struct fact){ .kind = kind, .at = facts->now, .rank = rank };
    return fact;
}

bool fact_name (struct fact *fact, const struct rank *rank, int most)
{
    if (!fact->ranks)
        fact->ranks = calloc ((size_t)most, sizeof (*fact->ranks));
    if (fact->ranks)
        fact->ranks[fact->count++] = (struct fact_rank){ .rank = rank };
    return fact->ranks;
}

bool facts_take (struct facts *facts, struct fact *fact)
{
    if (facts->first == facts->count) {
        facts->first = facts->count = 0;
        return false;
    }
    *fact = facts->fact[facts->first++];
    return true;
}

void fact_clear (struct fact *fact)
{
    free (fact->ranks);
    fact->ranks = NULL;
}

void facts_clear (struct facts *facts)
{
    struct fact fact;

    while (facts_take (facts, &fact))
        fact_clear (&fact);
    fact_clear (&facts->dropped);
    free (facts->fact);
    *facts = (struct facts){ 0 };
}
