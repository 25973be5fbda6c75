/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "isolation.h"

#include <string.h>

#include "common/second.h"
#include "common/silence.h"

static bool _is_waited_for (const struct rank *rank)
{
    return !rank->at_srun && rank_is_supervised (rank);
}

static bool _one_is_there (const struct job *job)
{
    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++)
        if (_is_waited_for (rank) && rank->away == NEVER)
            return true;
    return false;
}

/* There are tasks on srun's host, and leases that end tasks. */
static bool _has_leases (const struct job *job)
{
    bool beside = false, spare = false;

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        beside = beside || rank->at_srun;
        spare = spare || (rank->kind == RULES_SPARE && rank->state != RANK_ENDED);
    }
    return beside && spare;
}

/* When the host of a rank was heard last; NEVER if none of its connections broke. */
static int64_t _heard (const struct job *job, const struct rank *one)
{
    int64_t heard = one->heard;
    bool broke = false;

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        if (!_is_waited_for (rank) || strcmp (rank->host.id, one->host.id) != 0)
            continue;
        heard = moment_last (heard, rank->heard);
        broke = broke || rank->broke;
    }
    return broke ? heard : NEVER;
}

/* When the last of the other hosts was heard, if they fell silent together; else NEVER. */
static int64_t _silent_since (const struct job *job)
{
    int64_t apart = (silence_interval (job->config->lost_after) + 1) * SECOND_MS, first = NEVER, last = 0;
    const struct rank *known = NULL;
    bool several = false;

    for (const struct rank *rank = job->rank; rank < job->rank + job->tasks; rank++) {
        int64_t heard;

        if (rank->at_srun)
            continue;
        if (!_is_waited_for (rank)) {
            /* It may have left after the others fell silent, so they were not cut off from here. */
            last = moment_last (last, rank->heard);
            continue;
        }
        heard = _heard (job, rank);
        if (heard == NEVER)
            return NEVER;
        known = known ? known : rank;
        several = several || strcmp (rank->host.id, known->host.id) != 0;
        first = moment_first (first, heard);
        last = moment_last (last, heard);
    }
    return several && last - first <= apart ? last : NEVER;
}

/* The moment from which on it is cut off, or NEVER. */
static int64_t _from (const struct job *job)
{
    int64_t since;

    if (_one_is_there (job) || !_has_leases (job) || stop_policy_cause (job->policy) != STOP_POLICY_NOT_OVER)
        return NEVER;
    since = _silent_since (job);
    return since == NEVER ? NEVER : since + job->config->lost_after * SECOND_MS;
}

bool isolation_holds (const struct job *job)
{
    return job->now >= _from (job);
}

int64_t isolation_due (const struct job *job)
{
    int64_t from = _from (job);

    return from > job->now ? from : NEVER;
}
