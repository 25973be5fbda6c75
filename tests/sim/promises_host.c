/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Promises about srun's host, which runs tasks beside srun, and is cut off from all others.
 */
#include "config.h"

#include "promises.h"

#include <stddef.h>

#include "oracle.h"

/* The last supervisors of a node left meanwhile, or were killed, and srun's host cannot know that. */
static bool _is_left_unheard (const struct history *h, int number, int64_t from, int64_t until)
{
    int left = 0;

    EACH (note, h)
        left += (note->kind == GONE || (note->kind == LEFT && (!note->number || note->at < from)))
                && note->at < until && h->plan->node[note->rank] == number;
    for (int i = 0; i < h->plan->tasks; i++)
        left -= h->plan->node[i] == number;
    return left == 0;
}

/* The moment since which a node was not reached from srun's host by then, and is not; or NEVER. */
static int64_t _unreached_since (const struct history *h, int number, int64_t now)
{
    const struct plan *plan = h->plan;
    int64_t since = NEVER, until = 0;

    EACH (note, h) {
        const struct disturbance *d = note->kind == DISTURBED ? &plan->disturbance[note->number] : NULL;

        if (!d || note->at > now || (d->kind != DIE && !oracle_cuts (d->kind))
            || (d->target != number && d->target != plan->srun))
            continue;
        if (note->at > until)
            since = note->at;
        until = moment_last (until, d->kind == DIE ? NEVER : note->at + d->lasts);
        if (_is_left_unheard (h, number, since, moment_first (until, now)))
            until = NEVER;
    }
    /* Supervisors connect again so soon. */
    return until >= now - oracle_interval_ms (plan) - 2000 - 2 * plan->delay ? since : NEVER;
}

/*
 * In a moment after an outage, or tf-rendezvous's end, perhaps nobody has connected. Nor does the next
 * tf-rendezvous know of a supervisor whose end the killed one had not read.
 */
static bool _follows_at_once (const struct history *h)
{
    const struct plan *plan = h->plan;

    for (const struct disturbance *one = plan->disturbance; one < plan->disturbance + plan->disturbances;
         one++)
        for (const struct disturbance *next = one + 1; next < plan->disturbance + plan->disturbances;
             next++) {
            bool killed = one->kind == KILL_RENDEZVOUS;
            int64_t over = one->at + (killed ? 0 : one->lasts);

            if (one->kind == KILL_SUPERVISOR && next->kind == KILL_RENDEZVOUS
                && next->at <= one->at + plan->delay)
                return true;
            if ((killed || oracle_cuts (one->kind))
                && (oracle_cuts (next->kind) || next->kind == DIE || next->kind == KILL_SUPERVISOR)
                && next->at > over && next->at < over + oracle_interval_ms (plan) + 2000 + 2 * plan->delay)
                return true;
        }
    return false;
}

/* Supervisors on a node other than srun's had not left, or been killed, or told to be lost. */
static bool _has_supervisors (const struct history *h, int number, int64_t then, int64_t now)
{
    bool gone[MOST_RANKS] = { false };

    EACH (note, h)
        if ((note->at < then && (note->kind == LEFT || note->kind == GONE))
            || (note->at <= now && note->kind == TOLD
                && (note->number == FACT_LOST || note->number == FACT_REPLACED)))
            gone[note->rank < 0 ? 0 : note->rank] = true;
    for (int i = 0; i < h->plan->tasks; i++)
        if (h->plan->node[i] == number && number != h->plan->srun && !gone[i])
            return true;
    return false;
}

/* So many hosts are not reached, the last of them since then; -1: one is reached. */
static int _unreached (const struct history *h, int64_t now, int64_t *since)
{
    int nodes = 0;

    *since = 0;
    for (int i = 0; i < h->plan->nodes; i++) {
        int64_t moment = _unreached_since (h, i, now);

        if (!_has_supervisors (h, i, moment_first (moment, now), now))
            continue;
        if (moment == NEVER)
            return -1;
        *since = moment_last (*since, moment);
        nodes++;
    }
    return nodes;
}

/*
 * design/failures.md, Leases: "srun's host is cut off: the tasks there have to end". Only then are they
 * killed without having been asked to end.
 */
const char *sruns_host_ends_its_tasks_if_it_is_cut_off (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *asked[MOST_RANKS] = { NULL };
    int64_t ordered = 0; /* to all of them at once */

    /* Their own leases may be over then. */
    if (oracle_is_lost_while_suspended (h) || _follows_at_once (h))
        return NULL;
    EACH (note, h) {
        int64_t since = 0;

        if (note->kind == BEGAN)
            asked[note->rank] = NULL;
        if (note->kind == ASKED)
            asked[note->rank] = note;
        if (note->kind != KILLED || !note->number || plan->node[note->rank] != plan->srun || asked[note->rank]
            || oracle_began (h, oracle_of_slurm, note->at) || note->at <= ordered)
            continue;
        if (_unreached (h, note->at, &since) < 2)
            return oracle_broken (note, "is killed, and srun's host is not cut off", note->life);
        if (note->at - since < 1000 * plan->config.lost_after - oracle_interval_ms (plan) - 50)
            return oracle_broken (note, "is killed before the lease is over", note->life);
        ordered = note->at + 2 * plan->delay;
    }
    return NULL;
}

/* The first disturbance cuts srun's host off from two others at least. */
static const struct disturbance *_sruns_cut (const struct history *h)
{
    const struct disturbance *d = h->plan->disturbance;
    int64_t over = h->note->at + d->at + 1000 * h->plan->config.lost_after;
    int nodes = 0;

    if (oracle_began (h, oracle_is_any, NEVER) == 0 || !oracle_cuts (d->kind) || d->target != h->plan->srun)
        return NULL;
    /* guide/lost-nodes.md: "Once every spare is in use, the node keeps its tasks running." And a node may
     * count no more whose tasks have ended. */
    EACH (note, h)
        if ((note->kind == TOLD && note->number == FACT_REPLACED && note->at < over)
            || (note->kind == ENDED && note->at < h->note->at + d->at))
            return NULL;
    for (int i = 0; i < h->plan->nodes; i++)
        nodes += _has_supervisors (h, i, h->note->at + d->at, NEVER);
    return nodes > 1 ? d : NULL;
}

/* The same sentence; and none begins before the others are back, or given up. */
const char *a_cut_off_sruns_host_runs_no_task (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct disturbance *cut = _sruns_cut (h);
    struct course course = { 0 };
    struct alive alive = { 0 };
    int64_t from, until;

    if (!cut)
        return NULL;
    from = h->note->at + cut->at + 1000 * plan->config.lost_after + 2 * oracle_interval_ms (plan) + 1000;
    until = moment_first (h->note->at + cut->at + cut->lasts, from + 200000);
    EACH (note, h) {
        if (note->at >= until || (note->kind == DISTURBED && note->number > 0)
            || oracle_is_over (plan, &course))
            return NULL;
        for (int i = 0; i < plan->tasks && note->at >= from; i++)
            if (alive.program[i] && plan->node[i] == plan->srun)
                return oracle_broken (note, "runs beside srun, whose host is cut off", i);
        oracle_follow (h, &alive, note);
        oracle_follow_course (h, &course, note);
    }
    return NULL;
}
