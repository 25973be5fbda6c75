/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unanswered.h"

/* Supervisors whose tasks began to connect at the same time tell of it within this time. */
#define TOGETHER_MS 10000
/* Attempts are counted, but not further than this: each takes a look at all ranks. */
#define COUNTED_MOST 1000

static bool _is_address (const struct rank *rank, const struct signs_address *to)
{
    return (to->port == rank->port || to->port == rank->master_port)
           && address_equal (&to->address, &rank->address);
}

/* The rank that others know by this address; or NULL. */
static const struct rank *_rank_at (const struct job *job, const struct signs_address *to)
{
    EACH_RANK (rank, job)
        if (rank->place && _is_address (rank, to))
            return rank;
    return NULL;
}

/* Tasks of one node see the same. */
static void _note_node (struct job *job, const struct rank *from)
{
    EACH_RANK (rank, job)
        rank->tells_unanswered = rank->tells_unanswered || rank->node_index == from->node_index;
}

void unanswered_take (struct job *job, struct rank *from, const struct signs *signs)
{
    struct unanswered *u = &job->unanswered;
    bool told = u->count > 0 && u->due == NEVER;

    if (signs->unanswered_count == 0 || told || u->count >= COUNTED_MOST || from->tells_unanswered)
        return;
    for (int i = 0; i < signs->unanswered_count; i++) {
        const struct rank *rank = _rank_at (job, &signs->unanswered[i]);

        if (!rank)
            continue;
        _note_node (job, from);
        if (u->count < UNANSWERED_NAMED)
            u->attempt[u->count] = (struct unanswered_attempt){ from, rank, signs->unanswered[i] };
        u->count++;
        if (u->due == NEVER)
            u->due = job->now + TOGETHER_MS;
    }
}

void unanswered_check (struct job *job)
{
    struct unanswered *u = &job->unanswered;

    if (job->now < u->due)
        return;
    u->due = NEVER;
    if (job->phase != JOB_FINISHES)
        facts_add (&job->facts, FACT_UNANSWERED, NULL)->unanswered = u;
}
