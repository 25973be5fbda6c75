/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Promises about places and lives: who begins when, in which place, with which dictionary, and how often.
 */
#include "config.h"

#include "promises.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "oracle.h"

/*
 * guide/lost-nodes.md: "So two tasks with the same role can never reach the others". manual: "It never
 * starts before every process of the former run is dead".
 */
const char *never_two_in_one_place (const struct history *h)
{
    struct alive alive = { 0 };

    EACH (note, h) {
        if (note->kind == BEGAN && alive.tree[note->rank])
            return oracle_broken (note, "a life begins while the former one is alive", note->life);
        oracle_follow (h, &alive, note);
        if (note->kind != BEGAN && note->kind != CALMED)
            continue;
        for (int i = 0; i < h->plan->tasks; i++)
            for (int j = 0; j < i; j++)
                if (alive.tree[i] && alive.tree[j] && alive.began[i].place == alive.began[j].place
                    && oracle_reaches (h, &alive, i) && oracle_reaches (h, &alive, j))
                    return oracle_broken (note, "two are alive in one place", alive.began[i].place);
    }
    return NULL;
}

/*
 * design/overview.md, promise 1: "No program starts with a missing, partial or different TF_CONFIG."
 * guide/lost-nodes.md: "all tasks of the step … are stopped. They restart with a new TF_CONFIG".
 */
const char *one_dictionary (const struct history *h)
{
    struct alive alive = { 0 };

    EACH (note, h) {
        if (note->kind == BEGAN) {
            if (note->place < 0 || h->place[note->number][note->rank] != note->place)
                return oracle_broken (note, "begins in a place that its dictionary does not give it",
                                      note->place);
            for (int i = 0; i < h->plan->tasks; i++)
                if (alive.program[i] && alive.began[i].number != note->number && oracle_reaches (h, &alive, i)
                    && oracle_reaches (h, &alive, note->rank))
                    return oracle_broken (note, "another program is alive with another dictionary", i);
        }
        oracle_follow (h, &alive, note);
    }
    return NULL;
}

/*
 * guide/restarts.md: "without a ps | any task | all tasks"; "They are stopped, and start when the last
 * one has exited." design/failures.md: "A task that ended with 0 is told to stop as well, because
 * its processes in the background may still serve on its port." So the members of such a cluster are in the
 * same life, with all their processes.
 */
const char *all_begin_together (const struct history *h)
{
    struct alive alive = { 0 };

    EACH (note, h) {
        if (note->kind == BEGAN && note->life > 0 && !oracle_has (h->plan, RULES_PS)
            && oracle_is_member (h->plan, note->place))
            for (int i = 0; i < h->plan->tasks; i++)
                if (alive.tree[i] && oracle_is_member (h->plan, alive.began[i].place)
                    && alive.began[i].life < note->life && oracle_reaches (h, &alive, i))
                    return oracle_broken (note, "begins while another one is in its former life", i);
        oracle_follow (h, &alive, note);
    }
    return NULL;
}

static bool _begins_life (const struct history *h, int place, int life)
{
    EACH (note, h)
        if (note->kind == BEGAN && note->place == place && note->life == life)
            return true;
    return false;
}

/*
 * guide/restarts.md: "'All tasks' means every task except evaluators …, including tasks that have already
 * exited with 0". With srun's --wait the first end is the beginning of the last; and what one that is cut
 * off was told may arrive when it is too late.
 */
const char *none_is_left_out (const struct history *h)
{
    if (oracle_has (h->plan, RULES_PS) || h->plan->wait || oracle_began (h, oracle_breaks, NEVER)
        || !oracle_is_calm (h, NEVER))
        return NULL;
    EACH (note, h) {
        if (note->kind != BEGAN || note->life == 0 || !oracle_is_member (h->plan, note->place))
            continue;
        for (int place = 0; place < h->plan->tasks; place++)
            if (oracle_is_member (h->plan, place) && h->plan->kind[place] != RULES_SPARE
                && !_begins_life (h, place, note->life))
                return oracle_broken (note, "all begin again without one", place);
    }
    return NULL;
}

/* There is progress: a restart of one task that was announced before does not count after it. */
static void _forgive (int *row, const bool *waits)
{
    for (int i = 0; i < MOST_RANKS; i++)
        row[i] = waits[i] ? -1 : 0;
}

/*
 * guide/restarts.md: "A task that fails is then restarted on its node, at most three times in a row
 * without progress, and at most thirty times in all", with N = 3. manual, SPARE TASKS: "Tasks that are
 * lost while all are being stopped are replaced, too, and use none": then an auxiliary task or an
 * evaluator that was just restarted begins again. Progress: a life that came to a higher step than its
 * task had before, or lasted a minute. What was lost with a connection the rendezvous cannot know.
 */
const char *at_most_n_restarts (const struct history *h)
{
    const struct restart_rule *rule = &h->plan->config.restart;
    int last[MOST_RANKS], row[MOST_RANKS] = { 0 }, highest[MOST_RANKS] = { 0 }, places = 0, all = 0;
    int64_t began[MOST_RANKS] = { 0 };
    bool waits[MOST_RANKS] = { false };
    /* With a ps, a task that was restarted alone counts its own steps. */
    bool calm = !oracle_began (h, oracle_is_any, NEVER) && !oracle_has (h->plan, RULES_PS);

    for (int i = 0; i < MOST_RANKS; i++)
        last[i] = -1;
    EACH (note, h) {
        if (note->kind == TOLD && note->place < 0 && note->number != FACT_GRACE)
            return oracle_broken (note, "fewer than no restarts are left", note->place);
        places += note->kind == PLACES;
        if (note->kind == ENDED && note->place >= 0) {
            if (note->number > highest[note->place] || note->at - began[note->place] >= 60000)
                _forgive (row, waits);
            waits[note->place] = !oracle_is_member (h->plan, note->place);
            if (note->number > highest[note->place])
                highest[note->place] = note->number;
        }
        if (note->kind != BEGAN || note->place < 0)
            continue;
        if (note->status > all)
            _forgive (row, waits);
        all = note->status > all ? note->status : all;
        if (note->life <= last[note->place])
            return oracle_broken (note, "a life with this number has begun before", note->life);
        if (note->life > restart_rule_total (rule) + (oracle_is_member (h->plan, note->place) ? 0 : places))
            return oracle_broken (note, "more lives than restarts", note->life);
        row[note->place] += note->life > 0;
        waits[note->place] = false;
        began[note->place] = note->at;
        if (calm && row[note->place] > rule->times)
            return oracle_broken (note, "more restarts in a row, without progress", row[note->place]);
        last[note->place] = note->life;
    }
    return NULL;
}

/*
 * guide/restarts.md: "A task that fails is then restarted on its node". Where nothing else happens, each
 * failure that the rule covers is followed by another life, as long as there are restarts.
 */
const char *a_covered_failure_is_followed_by_a_life (const struct history *h)
{
    const struct plan *plan = h->plan;
    bool ps = oracle_has (plan, RULES_PS);
    int failures = 0;
    int64_t takes;

    /* The preflight before the next life may refuse it. */
    if (plan->config.stop != STOP_WHEN_AUTO || plan->wait || plan->config.watch.seconds
        || oracle_is_refused (h))
        return NULL;
    /* With a ps some tasks go on meanwhile, and may be done. */
    takes = plan->config.stop_grace + plan->config.restart.longest_pause + 3;
    takes = 1000 * takes + 4 * plan->delay + 2 * plan->tee;
    if (ps && oracle_began (h, oracle_is_any, NEVER))
        return NULL;
    EACH (note, h) {
        if (note->kind == DISTURBED && note->status != KILL_PROGRAM && note->status != KILL_GROUP
            && !oracle_is_harmless (h, note->number))
            return NULL;
        /* manual: "If a task fails while its connection … is broken, …; after a minute without one it has
         * ended." */
        if (note->kind == DISTURBED && plan->disturbance[note->number].lasts > 40000)
            return NULL;
        /* One that is final ends the job; one of these uses restarts of its own. */
        if (note->kind == ENDED && note->status != 0
            && (!oracle_covers (plan, note->status) || !oracle_is_member (plan, note->place)))
            return NULL;
        failures += note->kind == ENDED && note->status != 0 && note->cause != BY_SUPERVISOR;
    }
    if (failures > plan->config.restart.times)
        return NULL;
    EACH (note, h) {
        bool followed = false;

        if (note->kind != ENDED || note->status == 0 || note->cause == BY_SUPERVISOR)
            continue;
        for (const struct note *other = h->note; other < h->note + h->notes; other++)
            followed = followed
                       || (other->kind == BEGAN && other->place == note->place && other->life > note->life)
                       || (ps && other->kind == TOLD && other->number == FACT_OVER
                           && other->rank != note->rank && other->at < note->at + takes);
        if (!followed)
            return oracle_broken (note, "a covered failure is not followed by a life", note->life);
    }
    return NULL;
}

/*
 * guide/restarts.md: "A step that is asked to end does not restart: scancel, Ctrl-C, preemption, the time
 * limit, --signal=TERM@600." design/failures.md: "Slurm's SIGTERM | none any longer, however
 * long the task continues".
 */
const char *none_begins_when_slurm_has_asked_to_end (const struct history *h)
{
    int64_t asked = NEVER;

    EACH (note, h) {
        /* A node that is cut off does not get it. The rendezvous may just have told one to begin. */
        if (asked == NEVER && oracle_is_sigterm (h, note) && note->status != LIMIT
            && !oracle_began (h, oracle_cuts, note->at))
            asked = note->at;
        if (note->kind == BEGAN && asked != NEVER && note->at > asked + h->plan->skew)
            return oracle_broken (note, "begins, and Slurm has asked the step to end", note->life);
    }
    return NULL;
}

/*
 * The same sentence: "nothing is restarted then". What dies of Slurm's SIGTERM is not said to be restarted.
 */
const char *what_slurm_ends_is_not_restarted (const struct history *h)
{
    bool slurms[MOST_RANKS] = { false };

    EACH (note, h) {
        if (note->kind == BEGAN || note->kind == ENDED)
            slurms[note->rank] = note->kind == ENDED && note->cause == BY_SLURM && note->status == SIGTERM;
        /* A hang is decided without knowing that. */
        if (note->kind == TOLD && note->number == FACT_HANG && note->rank >= 0)
            slurms[note->rank] = false;
        if (note->kind == TOLD && note->number == FACT_DECIDED && note->rank >= 0 && slurms[note->rank]
            && (note->status == DECISION_ONE || note->status == DECISION_ALL))
            return oracle_broken (note, "is to be restarted, and Slurm has ended it", note->life);
    }
    return NULL;
}

/* When the last program of an evaluator ended; 0: it has none. */
static int64_t _evaluator_ends (const struct history *h)
{
    int64_t ends = 0;

    EACH (note, h)
        if (note->kind == ENDED && note->place >= 0 && h->plan->kind[note->place] == RULES_EVALUATOR)
            ends = note->at;
    return ends;
}

/*
 * guide/restarts.md: "When training has finished, only an evaluator … with eval_grace= restarts and,
 * until it has exited, an auxiliary task, which it may need." manual: "not if the pause would end after
 * eval_grace=". Of a step to which nothing happens from outside, with enough restarts for all that fails.
 */
const char *an_evaluator_is_restarted_in_its_grace (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *failed[MOST_RANKS] = { NULL };
    int64_t takes = (plan->config.restart.longest_pause + 1) * INT64_C (1000) + plan->tee + 2 * plan->delay,
            over = NEVER, ends = _evaluator_ends (h);
    int failures = 0;

    if (plan->config.stop != STOP_WHEN_AUTO || plan->wait || plan->config.watch.seconds
        || oracle_has_spares (plan) || oracle_began (h, oracle_is_any, NEVER))
        return NULL;
    EACH (note, h) {
        if (note->kind == TOLD && note->number == FACT_OVER)
            over = note->at + plan->config.eval_grace * INT64_C (1000);
        if (note->kind == BEGAN)
            failed[note->rank] = NULL;
        if (note->kind != ENDED || note->status == 0)
            continue;
        failures += note->cause != BY_SUPERVISOR;
        if (over == NEVER && !oracle_covers (plan, note->status))
            return NULL;
        if (over != NEVER && note->cause == BY_ITSELF && oracle_covers (plan, note->status)
            && (plan->kind[note->place] == RULES_EVALUATOR
                || (plan->beside[note->place] && note->at + takes < ends))
            && note->at + takes < over)
            failed[note->rank] = note;
    }
    for (int i = 0; i < plan->tasks && failures <= plan->config.restart.times; i++)
        if (failed[i])
            return oracle_broken (failed[i], "fails in its grace, and is not restarted", failed[i]->life);
    return NULL;
}
