/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Promises about spares: who gets which place, when, and who keeps his.
 */
#include "config.h"

#include "promises.h"

#include <stddef.h>

#include "common/second.h"
#include "common/silence.h"
#include "oracle.h"

/* The disturbance is a node that dies, or a supervisor that is killed. */
static bool _loses (enum disturbance_kind kind)
{
    return kind == DIE || kind == KILL_SUPERVISOR;
}

static bool _is_hit (const struct plan *plan, const struct disturbance *d, int rank)
{
    return d->kind == DIE ? plan->node[rank] == d->target : rank == d->target;
}

/* Spares on this node are silent when the place of a killed supervisor's task is to be given away. */
static bool _is_silent_then (const struct history *h, const struct note *loss)
{
    const struct plan *plan = h->plan;

    EACH (note, h)
        if (loss->status == KILL_SUPERVISOR && note->kind == DISTURBED
            && (oracle_cuts ((enum disturbance_kind)note->status)
                || oracle_resets ((enum disturbance_kind)note->status))
            && note->at < loss->at + (plan->config.lost_after + 15) * INT64_C (1000)
            && note->at + plan->disturbance[note->number].lasts + 15000 > loss->at)
            return true;
    return false;
}

/* The only loss of a history in which all else is harmless; or NULL. */
static const struct note *_only_loss (const struct history *h)
{
    const struct note *loss = NULL;

    EACH (note, h) {
        enum disturbance_kind kind = (enum disturbance_kind)note->status;

        if (note->kind != DISTURBED
            || (!_loses (kind) && kind != SUSPEND && oracle_is_harmless (h, note->number)))
            continue;
        if (loss || !_loses (kind))
            return NULL;
        loss = note;
    }
    return loss;
}

/*
 * From when on a silence counts anew: the next rendezvous has heard nobody; after an outage of its host,
 * nearly as long as a lease, it waits as if it had heard all when supervisors are back, which try again after
 * an interval, or two seconds later; and in an outage it does not see what is lost.
 */
static int64_t _counts_from (const struct plan *plan, const struct note *note, const struct note *loss)
{
    int64_t lasts = plan->disturbance[note->number].lasts;

    if (note->status == KILL_RENDEZVOUS)
        return note->at;
    if (oracle_cuts ((enum disturbance_kind)note->status)
        && (note->at + lasts > loss->at
            || lasts + 3 * oracle_interval_ms (plan) + 2 * plan->delay + 2000
                   >= plan->config.lost_after * INT64_C (1000)))
        return note->at + lasts + oracle_interval_ms (plan) + 2000;
    return 0;
}

/*
 * When its place is given away, and a spare is free, at the latest. manual, SPARE TASKS: "when its node is
 * silent for lost_after= seconds and some more (at most 11; …), or when its supervisor was killed, and
 * does not come back within ten seconds." "One on a node that is silent … takes none."
 */
static int64_t _deadline (const struct history *h, const struct note *loss)
{
    const struct plan *plan = h->plan;
    int64_t last = loss->at + (plan->config.lost_after + 11) * INT64_C (1000);

    EACH (note, h) {
        if (note->kind != DISTURBED || note == loss)
            continue;
        last = moment_last (last, note->at + plan->disturbance[note->number].lasts + 15000);
        last = moment_last (last, _counts_from (plan, note, loss)
                                      + (plan->config.lost_after + 11) * INT64_C (1000));
    }
    return last + 2 * plan->delay + 2000;
}

/* There are as many spares on other nodes as tasks that may need one, also if they have ended with 0. */
static bool _are_enough (const struct history *h, const struct note *loss)
{
    const struct plan *plan = h->plan;
    const struct disturbance *d = &plan->disturbance[loss->number];
    int node = d->kind == DIE ? d->target : plan->node[d->target], spares = 0;
    bool suspect[MOST_NODES] = { false };

    EACH (note, h)
        if (note->kind == TOLD && note->number == FACT_SUSPECT && note < loss)
            suspect[plan->node[note->rank]] = true;
    /* Those of bad nodes are not used, and others may have been needed for its tasks. */
    for (int i = 0; i < plan->tasks; i++) {
        bool bad = plan->health[plan->node[i]] != HEALTHY || suspect[plan->node[i]];

        if (plan->kind[i] == RULES_SPARE)
            spares += plan->node[i] != node && !bad;
        else
            spares -= _is_hit (plan, d, i) || bad;
    }
    return spares >= 0;
}

/*
 * guide/lost-nodes.md: "the spare takes over the role of the lost task". Of one loss in a history in
 * which no task fails otherwise before.
 */
const char *what_is_lost_is_replaced (const struct history *h)
{
    const struct note *loss = oracle_has_spares (h->plan) ? _only_loss (h) : NULL;
    bool lost[MOST_RANKS] = { false };
    struct alive alive = { 0 };
    int64_t deadline;

    if (!loss || !_are_enough (h, loss) || _is_silent_then (h, loss) || h->plan->wait)
        return NULL;
    deadline = _deadline (h, loss);
    EACH (note, h) {
        if (note->kind == TOLD && note->number == FACT_REPLACED)
            lost[note->rank] = false;
        for (int i = 0; i < h->plan->tasks && note == loss; i++)
            lost[i] = alive.program[i] && _is_hit (h->plan, &h->plan->disturbance[loss->number], i);
        for (int i = 0; i < h->plan->tasks && note > loss && note->at > deadline; i++)
            if (lost[i])
                return oracle_broken (loss, "a task is lost, and no spare gets its place", i);
        if (note->kind == TOLD && note->number == FACT_LOST && note->rank >= 0 && lost[note->rank])
            return oracle_broken (note, "counts as lost, and a spare is free", note->rank);
        oracle_follow (h, &alive, note);
        if (note->kind == SRUN_ENDED
            || (note->kind == TOLD && (note->number == FACT_OVER || note->number == FACT_HANG))
            || (note->kind == ENDED && note->status && note->cause == BY_ITSELF)
            || (note->kind == LEFT && h->plan->kind[note->rank] == RULES_SPARE))
            return NULL;
    }
    return NULL;
}

/*
 * guide/hangs.md: "While a node does not answer, no task is named". Of a node that is lost while a task
 * of the cluster runs on it, before the tasks are asked.
 */
const char *a_silent_node_is_no_hang (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *loss = oracle_has_spares (plan) ? _only_loss (h) : NULL;
    struct alive alive = { 0 };
    const struct note *asked = NULL;
    bool works = false;

    if (!loss || loss->status == KILL_SUPERVISOR)
        return NULL;
    EACH (note, h) {
        /* It was heard of before, if at all. */
        if (note->kind == DISTURBED && note < loss && oracle_cuts ((enum disturbance_kind)note->status)
            && note->at + plan->disturbance[note->number].lasts + oracle_interval_ms (plan) > loss->at)
            return NULL;
        if (note->kind == QUESTION && (!asked || note->number != asked->number))
            asked = note;
        for (int i = 0; i < plan->tasks && note == loss; i++)
            works = works
                    || (alive.program[i] && _is_hit (plan, &plan->disturbance[loss->number], i)
                        && oracle_is_member (plan, alive.began[i].place));
        if (works && note->kind == TOLD && note->number == FACT_HANG && asked
            && asked->at > loss->at + 2 * plan->delay
            && note->at < loss->at + plan->config.lost_after * SECOND_MS)
            return oracle_broken (note, "is said to hang, and a node is silent", loss->number);
        oracle_follow (h, &alive, note);
    }
    return NULL;
}

/*
 * An outage that is over just before supervisors end their tasks. Connections that stand again do not tell of
 * it, and a supervisor that has not made another one yet ends its task and is busy with the output of that.
 */
static bool _is_nearly_long (const struct plan *plan, const struct disturbance *d)
{
    int lost_after = plan->config.lost_after, again = 2 * silence_interval (lost_after) + 1;

    return d->lasts < lost_after * SECOND_MS && d->lasts > (lost_after - again) * SECOND_MS;
}

/*
 * design/failures.md: "Spares may be back before the tasks whose places they could get. A supervisor that
 * returns after lost_after=, or nearly, gives all others some more seconds to return". So where nothing
 * else happens all keep their places.
 */
const char *an_outage_of_sruns_host_takes_no_place (const struct history *h)
{
    const struct disturbance *d = h->plan->disturbance;

    if (oracle_began (h, oracle_is_any, NEVER) != 1 || (d->kind != CUT && d->kind != BLOCK)
        || d->target != h->plan->srun || d->lasts > 200000 || h->plan->nodes < 3
        || _is_nearly_long (h->plan, d))
        return NULL;
    EACH (note, h) {
        if (note->kind == ENDED && note->status && note->cause == BY_ITSELF)
            return NULL;
        if (note->kind == TOLD && note->number == FACT_SUSPECT)
            return NULL;
        if (note->kind == TOLD && note->number == FACT_REPLACED)
            return oracle_broken (note, "is replaced, and it was srun's host that was cut off", note->life);
    }
    return NULL;
}

/* A node that reaches no other host, since this moment; or NEVER. */
static int64_t _cut_since (const struct history *h, int node, int64_t now)
{
    int64_t since = NEVER;

    EACH (note, h) {
        const struct disturbance *d = note->kind == DISTURBED ? &h->plan->disturbance[note->number] : NULL;

        if (d && note->at <= now && (d->kind == CUT || d->kind == BLOCK) && d->target == node
            && now < note->at + d->lasts && d->target != h->plan->srun)
            since = moment_first (since, note->at);
    }
    return since;
}

/*
 * design/failures.md, Leases: "the report does not arrive, I leave | no connection | 60 s; six minutes if
 * another life was possible"; "with spares … not refused | an hour". Spares: "The supervisor itself stays
 * for an hour after its task has ended, and reports when the node is back."
 */
const char *who_is_cut_off_stays_for_an_hour (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *left[MOST_RANKS] = { NULL };

    /* At the resume it does what it was told before the cut. */
    if (!oracle_has_spares (plan) || oracle_is_lost_while_suspended (h))
        return NULL;
    EACH (note, h) {
        int64_t since;

        if (note->kind == SRUN_ENDED
            || (note->kind == DISTURBED
                && (note->status == REJECT || oracle_of_slurm ((enum disturbance_kind)note->status)))
            || (note->kind == TOLD && note->number == FACT_REPLACED))
            return NULL;
        if (note->kind == LEFT)
            left[note->rank] = note;
        if (note->kind != UNHEARD || !left[note->rank] || oracle_loses_slurmstepd (h, note->rank, note->at))
            continue;
        /* It may have been cut off otherwise before. */
        since = _cut_since (h, plan->node[note->rank], note->at);
        if (since != NEVER && note->at > since + 3000 && note->at < since + 3600000 - 250000)
            return oracle_broken (note, "leaves while its node is cut off, and nobody hears of it", 0);
    }
    return NULL;
}

/* The same table. */
const char *who_is_cut_off_does_not_stay_longer (const struct history *h)
{
    const struct plan *plan = h->plan;
    int64_t stays = (oracle_has_spares (plan) ? 3600 : 360) * INT64_C (1000), ended[MOST_RANKS];
    bool here[MOST_RANKS];

    for (int i = 0; i < MOST_RANKS; i++) {
        ended[i] = h->note->at;
        here[i] = true;
    }
    EACH (note, h) {
        /* Before it leaves, and before the node is back. */
        int64_t now = note->at - 1;

        for (int i = 0; i < plan->tasks && (note->kind == LEFT || note->kind == CALMED); i++) {
            int64_t since = here[i] && ended[i] != NEVER ? _cut_since (h, plan->node[i], now) : NEVER;

            if (since != NEVER
                && now > moment_last (since + plan->config.lost_after * INT64_C (1000), ended[i]) + stays
                             + 180000)
                return oracle_broken (note, "is cut off, has ended, and stays", i);
        }
        if (note->kind == BEGAN)
            ended[note->rank] = NEVER;
        if (note->kind == CLEAR)
            ended[note->rank] = note->at;
        if (note->kind == LEFT || note->kind == GONE)
            here[note->rank] = false;
    }
    return NULL;
}

/*
 * doc/protocol: a supervisor whose connection timed out is waited for 300 s; "for a spare that is lost, not
 * after the work is done". So the end is told when the last program has ended, and it is known that the
 * spare is lost.
 */
const char *the_end_does_not_wait_for_a_lost_spare (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *loss = oracle_has_spares (plan) ? _only_loss (h) : NULL;
    int64_t last = 0;

    for (int i = 0; loss && i < plan->tasks; i++)
        if (_is_hit (plan, &plan->disturbance[loss->number], i) && plan->kind[i] != RULES_SPARE)
            return NULL;
    if (!loss)
        return NULL;
    last = _deadline (h, loss);
    EACH (note, h) {
        /* It is one no more. */
        if (note->kind == TOLD && note->number == FACT_REPLACED)
            return NULL;
        if (note->kind == BEGAN || note->kind == ENDED || note->kind == CLEAR)
            last = moment_last (last, note->at);
        /* The preflight has a limit of its own. */
        if (note->kind == TOLD && note->number == FACT_SUSPECT)
            last = moment_last (last, note->at);
        if (note->kind == TOLD && note->number == FACT_ENDED
            && note->at > last + plan->tee + 4 * plan->delay + 1500)
            return oracle_broken (loss, "a spare is lost, and the end is told late", (int)(note->at - last));
    }
    return NULL;
}

static int _failures (const struct history *h, int rank, const struct note *until)
{
    int failures = 0;

    for (const struct note *note = h->note; note < until; note++)
        failures += note->kind == ENDED && note->rank == rank && note->status != 0;
    return failures;
}

/*
 * manual, SPARE TASKS: a task is replaced that "was the first to fail three times without progress …; not
 * an evaluator or an auxiliary task", if nothing else than its failures happens to it.
 */
const char *three_failures_move_a_place (const struct history *h)
{
    const struct plan *plan = h->plan;
    bool suspect[MOST_NODES] = { false };

    EACH (note, h) {
        if (note->kind == DISTURBED && note->status != KILL_PROGRAM && note->status != KILL_GROUP)
            return NULL;
        if (note->kind == TOLD && note->number == FACT_SUSPECT)
            suspect[plan->node[note->rank]] = true;
        if (note->kind != TOLD || note->number != FACT_REPLACED || suspect[plan->node[note->rank]])
            continue;
        if (plan->beside[note->rank] || plan->kind[note->rank] == RULES_EVALUATOR)
            return oracle_broken (note, "is replaced, and only its program has failed", note->life);
        if (_failures (h, note->rank, note) < 3)
            return oracle_broken (note, "is replaced, and has not failed so often", note->life);
    }
    return NULL;
}
