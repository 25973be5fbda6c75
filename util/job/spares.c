/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "spares.h"

#include <string.h>

#include "finish.h"
#include "place.h"

static bool _shares_node (const struct rank *one, const struct rank *other)
{
    return strcmp (one->node, other->node) == 0;
}

/* A task of its node is silent, or the node has just been lost. */
static bool _has_silent_node (const struct job *job, const struct rank *spare)
{
    EACH_RANK (r, job)
        if (_shares_node (r, spare) && rank_is_supervised (r)
            && (r->away != NEVER || (r->link != LINK_NONE && r->silent)))
            return true;
    return false;
}

static bool _is_free (const struct job *job, const struct rank *rank)
{
    return rank_is_spare (rank) && rank_is_supervised (rank) && rank->link == LINK_UP && !rank->suspect
           && !_has_silent_node (job, rank);
}

int spares_free (const struct job *job)
{
    int count = 0;

    EACH_RANK (r, job)
        count += _is_free (job, r);
    return count;
}

static int _suitability (const struct job *job, const struct rank *lost, const struct rank *spare)
{
    bool together = false, idle = true;

    EACH_RANK (r, job)
        if (_shares_node (r, spare)) {
            together = together || (r->replaces && _shares_node (r->replaces, lost));
            idle = idle && !r->place;
        }
    return 8 * spare->vetted + 4 * (spare->component_first == lost->component_first) + 2 * together + idle;
}

struct rank *spares_choose (const struct job *job, const struct rank *lost)
{
    struct rank *best = NULL;

    EACH_RANK (r, job)
        if (_is_free (job, r) && !_shares_node (r, lost)
            && (r->master_port > 0 || !lost->place->needs_master_port)
            && (!best || _suitability (job, lost, r) > _suitability (job, lost, best)))
            best = r;
    return best;
}

enum fact_obstacle spares_obstacle (const struct job *job)
{
    if (job->config->lost_after == 0 || job->phase == JOB_FINISHES)
        return FACT_NO_OBSTACLE;
    if (spares_free (job) == 0)
        return FACT_NO_SPARE;
    return budget_left (job) > 0 ? FACT_NO_OBSTACLE : FACT_NO_RESTART;
}

void spares_place (struct job *job, struct place *p, struct rank *spare)
{
    struct rank *lost = p->rank;

    /* It has never begun. */
    if (lost->end.nth == 0)
        finish_note_end (job, lost, job->now, NULL, 0);
    spare->end = lost->end;
    spare->end.failure = NULL;
    lost->released = true;
    lost->replaced_by = spare;
    lost->place = NULL;
    spare->replaces = lost;
    spare->place = p;
    p->rank = spare;
    job->moved = true;
    job->ledger.idle_ms += job->run - job->launched;
}
