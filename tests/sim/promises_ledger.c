/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The promise about the ledger: a spectator keeps one of his own.
 */
#include "config.h"

#include "promises.h"

#include <stddef.h>
#include <string.h>

#include "job/ledger.h"
#include "oracle.h"

/*
 * manual, THE LEDGER: "The sum is the time of the step", and each moment is in the account that a spectator
 * would give it, who knows when programs began, said their steps, hung and failed. He looks every
 * millisecond.
 */

/* A supervisor tells a higher step so much later, at most, at the begin of a life. */
#define TELL_MS 1000
/* A failure, that may have come before a step, is reported so much later. */
#define REPORT_MS 310

struct truth {
    int64_t ms[LEDGER_ACCOUNTS];
    bool alive[MOST_RANKS], said[MOST_RANKS], says[MOST_RANKS];
    int64_t began[MOST_RANKS];
    int base[MOST_RANKS];
    int before, first, reached, repeated, rounds;
    bool stands, waited, hung;
    bool mixed; /* another failure has come before the hang was noticed */
    enum ledger_account last;
};

static bool _works (const struct plan *plan, int place)
{
    return oracle_is_member (plan, place) && plan->kind[place] != RULES_SPARE;
}

static void _stand (struct truth *t)
{
    if (t->first && t->first <= t->before)
        t->repeated += (t->reached < t->before ? t->reached : t->before) - t->first + 1;
    t->first = 0;
    t->stands = true;
}

static void _see (const struct history *h, struct truth *t, const struct note *note)
{
    if (note->place < 0 || !_works (h->plan, note->place))
        return;
    if (note->kind == BEGAN) {
        if (t->stands) {
            t->before = t->reached > t->before ? t->reached : t->before;
            t->reached = 0;
            memset (t->said, 0, sizeof (t->said));
            t->stands = t->waited = false;
            t->rounds++;
        }
        t->alive[note->place] = true;
        t->began[note->place] = note->at;
        t->base[note->place] = note->base;
    } else if (note->kind == ENDED) {
        t->alive[note->place] = false;
        t->reached = note->number > t->reached ? note->number : t->reached;
        /* It may have said its first step at this moment, and be the last one that works. */
        if (!t->stands && t->first == 0 && note->number > 0) {
            t->first = note->number;
            t->last = t->reached > t->before ? LEDGER_PROGRESS : LEDGER_REPEATED;
        }
        if (!t->stands && note->cause == BY_ITSELF && note->status != 0)
            _stand (t);
    }
}

/* A hang, and nothing else before. */
static bool _is_noticed (const struct history *h, const struct note *note)
{
    for (; note < h->note + h->notes && (note->kind != BEGAN || !_works (h->plan, note->place)); note++)
        if (note->kind == TOLD && note->number == FACT_HANG)
            return true;
        else if (note->kind == ENDED && note->cause == BY_ITSELF && note->status
                 && _works (h->plan, note->place))
            return false;
    return false;
}

/* What the program in this place has said by now. */
static void _hear_step (const struct history *h, struct truth *t, const struct note *note, int place,
                        int life, int64_t now)
{
    const struct plan *plan = h->plan;
    const struct script *script = &plan->script[place][life < 2 ? life : 2];
    int64_t age = now - t->began[place], until = age < script->hangs ? age : script->hangs;
    int step;

    if (age >= script->hangs && !t->stands) {
        t->hung = _is_noticed (h, note);
        t->mixed = t->mixed || !t->hung;
        if (t->hung)
            _stand (t);
    }
    if (until < plan->start_ms)
        return;
    step = t->base[place] + 1 + (int)((until - plan->start_ms) / plan->sign_ms);
    t->said[place] = t->says[place] = true;
    t->first = t->first || t->stands ? t->first : step;
    t->reached = step > t->reached ? step : t->reached;
}

static enum ledger_account _account (const struct history *h, struct truth *t)
{
    bool alive = false;

    if (t->stands)
        return LEDGER_PAUSING;
    for (int i = 0; i < h->plan->tasks; i++)
        alive = alive || t->alive[i];
    if (!alive)
        return t->last;
    if (!t->first)
        return LEDGER_STARTING;
    for (int i = 0; i < h->plan->tasks && !t->waited; i++)
        if (t->alive[i] && t->says[i] && !t->said[i])
            return LEDGER_WAITING;
    t->waited = true;
    return t->reached > t->before ? LEDGER_PROGRESS : LEDGER_REPEATED;
}

static void _find_truth (const struct history *h, struct truth *t)
{
    const struct note *note = h->note;
    int life[MOST_RANKS] = { 0 };

    for (int64_t now = h->begin; now < h->ledger_at; now++) {
        for (; note < h->note + h->notes && note->at <= now; note++) {
            _see (h, t, note);
            if (note->kind == BEGAN && note->place >= 0)
                life[note->place] = note->life;
        }
        for (int i = 0; i < h->plan->tasks; i++)
            if (t->alive[i])
                _hear_step (h, t, note, i, life[i], now);
        t->last = _account (h, t);
        t->ms[t->last]++;
    }
    if (!t->stands)
        _stand (t);
}

static bool _is_near (int64_t one, int64_t other, int64_t tolerance)
{
    return one <= other + tolerance && other <= one + tolerance;
}

const char *the_ledger_is_the_truth (const struct history *h)
{
    const struct ledger *l = &h->ledger;
    const struct plan *plan = h->plan;
    /* The nodes may be checked again before a restart. */
    int64_t total = h->ledger_at - h->begin, tolerance,
            stood = l->ms[LEDGER_PAUSING] + l->ms[LEDGER_NOTICING] + l->ms[LEDGER_PREFLIGHT];
    struct truth t = { .last = plan->config.task.preflight ? LEDGER_PREFLIGHT : LEDGER_STARTING };

    if (!h->has_ledger)
        return NULL;
    for (int i = 0; i < LEDGER_ACCOUNTS; i++)
        if (l->ms[i] < 0)
            return "an account is less than nothing";
    if (ledger_total (l) != total)
        return "the sum is not the time of the step";
    if (oracle_began (h, oracle_is_any, NEVER) || !plan->config.watch.seconds || oracle_has (plan, RULES_PS)
        || plan->config.stop != STOP_WHEN_AUTO || plan->wait || plan->delay > 20 || plan->tee)
        return NULL;
    _find_truth (h, &t);
    if (t.mixed)
        return NULL;
    /* A message takes its time, a step is told a second later, a hang is noticed from the last sign on. */
    tolerance = total / 100 + t.rounds * (4 * plan->delay + 10 + TELL_MS) + REPORT_MS;
    tolerance += t.hung ? plan->sign_ms : 0;
    if (!_is_near (t.ms[LEDGER_PROGRESS], l->ms[LEDGER_PROGRESS], tolerance)
        || !_is_near (t.ms[LEDGER_REPEATED], l->ms[LEDGER_REPEATED], tolerance)
        || !_is_near (t.ms[LEDGER_STARTING], l->ms[LEDGER_STARTING], tolerance)
        || l->ms[LEDGER_PREFLIGHT] < t.ms[LEDGER_PREFLIGHT] - tolerance
        || !_is_near (t.ms[LEDGER_WAITING], l->ms[LEDGER_WAITING], tolerance)
        || !_is_near (t.ms[LEDGER_PAUSING] + t.ms[LEDGER_PREFLIGHT], stood, tolerance))
        return oracle_tell (
            "progress %d, repeated %d, starting %d, waiting %d, stood %d; the ledger has %d, %d, %d, %d, %d",
            (int)t.ms[LEDGER_PROGRESS], (int)t.ms[LEDGER_REPEATED], (int)t.ms[LEDGER_STARTING],
            (int)t.ms[LEDGER_WAITING], (int)(t.ms[LEDGER_PAUSING] + t.ms[LEDGER_PREFLIGHT]),
            (int)l->ms[LEDGER_PROGRESS], (int)l->ms[LEDGER_REPEATED], (int)l->ms[LEDGER_STARTING],
            (int)l->ms[LEDGER_WAITING], (int)stood);
    if (!_is_near (t.repeated, l->repeated_steps, (t.rounds + 1) * (2 + REPORT_MS / plan->sign_ms)))
        return "another number of steps was done twice";
    return NULL;
}
