/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Promises about --tf-preflight: which nodes are used, which are called bad, and that it ends.
 */
#include "config.h"

#include "promises.h"

#include <stddef.h>
#include <string.h>

#include "oracle.h"

/* It is found by the check of the node alone. */
static bool _fails_alone (const struct plan *plan, int node)
{
    enum health health = plan->health[node];

    return health == FAILS || health == HANGS || health == UNTOLD;
}

/* Links are compared among these. */
static int _able (const struct plan *plan)
{
    int able = 0;

    for (int i = 0; i < plan->nodes; i++)
        able += !_fails_alone (plan, i);
    return able;
}

static int _count (const struct plan *plan, enum health health)
{
    int count = 0;

    for (int i = 0; i < plan->nodes; i++)
        count += plan->health[i] == health;
    return count;
}

/* A node that fails itself is found in any case; one whose links are bad among enough that are good. */
static bool _is_found (const struct plan *plan, int node)
{
    int able = _able (plan), bad = _count (plan, SLOW) + _count (plan, DEAF);

    if (_fails_alone (plan, node))
        return true;
    return plan->health[node] != HEALTHY && plan->firewall[0] < 0 && able > 2 && 2 * bad < able;
}

/* All others whose links are checked are deaf, or behind a firewall. */
static bool _reaches_none (const struct plan *plan, int node)
{
    for (int i = 0; i < plan->nodes; i++) {
        bool firewall = (i == plan->firewall[0] && node == plan->firewall[1])
                        || (i == plan->firewall[1] && node == plan->firewall[0]);

        if (i != node && !_fails_alone (plan, i) && plan->health[i] != DEAF && !firewall)
            return false;
    }
    return true;
}

/* As at the beginning. */
static int _spares_on_good_nodes (const struct plan *plan)
{
    int spares = 0;

    for (int i = 0; i < plan->tasks; i++)
        spares += plan->kind[i] == RULES_SPARE && plan->health[plan->node[i]] == HEALTHY
                  && !_reaches_none (plan, plan->node[i]);
    return spares;
}

static int _places_on_bad_nodes (const struct plan *plan)
{
    int places = 0;

    for (int i = 0; i < plan->tasks; i++)
        places += plan->kind[i] != RULES_SPARE && plan->health[plan->node[i]] != HEALTHY;
    return places;
}

/*
 * guide/bad-nodes.md: "No task starts on a node that did not pass": its tasks get spares, or the step is
 * refused; with warn, if there are spares enough. Links of a node that is cut off cannot be checked.
 */
const char *a_bad_node_is_not_used (const struct history *h)
{
    const struct plan *plan = h->plan;

    if (!plan->config.task.preflight
        || (strstr (plan->config.task.preflight, "warn")
            && (_spares_on_good_nodes (plan) < _places_on_bad_nodes (plan) || plan->disturbances > 0)))
        return NULL;
    EACH (note, h) {
        int node = plan->node[note->rank < 0 ? 0 : note->rank];

        if (note->kind == BEGAN && _is_found (plan, node)
            && (_fails_alone (plan, node) || plan->disturbances == 0))
            return oracle_broken (note, "begins on a bad node", node + 1);
    }
    return NULL;
}

/* "Spares are checked too, and a bad one is not used": not later, and not with warn. */
const char *a_bad_spare_is_not_used (const struct history *h)
{
    const struct plan *plan = h->plan;
    bool suspect[MOST_NODES] = { false };

    EACH (note, h) {
        if (note->kind != TOLD || note->rank < 0)
            continue;
        if (note->number == FACT_SUSPECT)
            suspect[plan->node[note->rank]] = true;
        if (note->number == FACT_PLACES && suspect[plan->node[note->rank]])
            return oracle_broken (note, "gets a place on a bad node", plan->node[note->rank] + 1);
    }
    return NULL;
}

/*
 * "A node is never called bad because of one other node". For what it has found itself in any case, and
 * otherwise if nothing disturbs the step, and while all check.
 */
const char *a_good_node_is_not_condemned (const struct history *h)
{
    const struct plan *plan = h->plan;
    bool all = _count (plan, SLOW) + _count (plan, DEAF) <= 1 && plan->disturbances == 0;

    EACH (note, h) {
        int node = plan->node[note->rank < 0 ? 0 : note->rank];

        all = all && note->kind != LEFT;
        if (note->kind != TOLD || note->number != FACT_SUSPECT || plan->health[node] != HEALTHY
            || (note->status == FOUND_UNREACHED && _reaches_none (plan, node)))
            continue;
        if (note->status == FOUND_PROGRAM || all)
            return oracle_broken (note, "is called bad, and is good: found", note->status);
    }
    return NULL;
}

/* All begin, in a step whose nodes are good and which nothing disturbs but a firewall between two of them. */
const char *a_step_with_good_nodes_begins (const struct history *h)
{
    const struct plan *plan = h->plan;
    bool begun[MOST_RANKS] = { false };

    if (!plan->config.task.preflight || plan->disturbances > 0 || _count (plan, HEALTHY) < plan->nodes)
        return NULL;
    EACH (note, h)
        if (note->kind == BEGAN)
            begun[note->rank] = true;
    for (int i = 0; i < plan->tasks; i++)
        if (plan->kind[i] != RULES_SPARE && !begun[i])
            return oracle_tell ("rank %d has never begun", i);
    return NULL;
}

/*
 * Of an undisturbed step: so long after its launch all begin, or none ever does. For a supervisor that does
 * not report, all wait until it would have ended its check, and as long as for one that does not register.
 */
#define MOST_MS 12000

const char *the_preflight_ends (const struct history *h)
{
    const struct plan *plan = h->plan;
    int untold = plan->config.preflight.seconds + plan->config.timeout;
    int64_t most = MOST_MS + (_count (plan, UNTOLD) ? untold * 1000 : 0);

    if (!plan->config.task.preflight || plan->disturbances > 0)
        return NULL;
    EACH (note, h)
        if ((note->kind == BEGAN && note->life == 0) || note->kind == SRUN_ENDED)
            return note->at <= h->begin + most ? NULL : oracle_broken (note, "comes late", note->kind);
    return "nothing has begun, and srun has not ended";
}
