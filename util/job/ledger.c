/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ledger.h"

#include "common/second.h"
#include "finish.h"
#include "place.h"

void ledger_begin (struct job *job, int64_t launch_ms)
{
    struct ledger *l = &job->ledger;

    l->ms[LEDGER_LAUNCH] = launch_ms;
    l->account = job->phase == JOB_GATHERS ? LEDGER_PREFLIGHT : LEDGER_STARTING;
    l->since = job->run;
}

void ledger_fail (struct job *job, int64_t ago_ms)
{
    struct ledger *l = &job->ledger;
    int64_t run = job->run - ago_ms;

    if (l->failed == 0 || run < l->failed)
        l->failed = run;
}

static bool _stands (enum ledger_account account)
{
    return account == LEDGER_PAUSING || account == LEDGER_NOTICING || account == LEDGER_PREFLIGHT;
}

void ledger_step (struct job *job, const struct rank *rank, const struct signs *signs)
{
    struct ledger *l = &job->ledger;

    if (signs->step == 0 || !rank_works (rank) || !rank_runs (rank)
        || signs->life != rank->place->life.number)
        return;
    l->says = true;
    if (l->first == 0 && !_stands (l->account))
        l->first = signs->step;
    if (signs->step > l->reached)
        l->reached = signs->step;
}

/* One that says steps has begun again with the others, and has not said one. */
static bool _is_awaited (const struct place *p)
{
    const struct signs *signs = &p->rank->watch.signs;

    return p->duty.works && place_runs (p) && p->life.step > 0
           && (signs->life != p->life.number || signs->step == 0);
}

static enum ledger_account _of_lives (const struct job *job)
{
    const struct ledger *l = &job->ledger;

    if (l->first == 0)
        return LEDGER_STARTING;
    EACH_PLACE (p, job)
        if (!l->waited && _is_awaited (p))
            return LEDGER_WAITING;
    return l->reached > l->before ? LEDGER_PROGRESS : LEDGER_REPEATED;
}

static enum ledger_account _account (const struct job *job)
{
    bool runs = false, waits = false;

    if (job->phase == JOB_GATHERS)
        return job->preflight.until != NEVER || !job->gather.first ? LEDGER_PREFLIGHT : LEDGER_PAUSING;
    if (finish_failed (job))
        return LEDGER_NOTICING;
    EACH_PLACE (p, job)
        if (p->duty.works) {
            runs = runs || place_runs (p);
            waits = waits || place_waits (p);
        }
    if (!runs)
        return waits ? LEDGER_PAUSING : job->ledger.account;
    return _of_lives (job);
}

static void _move (struct ledger *l, enum ledger_account account, int64_t now)
{
    l->ms[l->account] += now - l->since;
    if (!l->begun && account != LEDGER_STARTING) {
        l->begun = true;
        l->first_ms = l->ms[LEDGER_STARTING];
    }
    l->account = account;
    l->since = now;
}

static void _count_repeated (struct ledger *l)
{
    if (l->first > 0 && l->first <= l->before)
        l->repeated_steps += (l->reached < l->before ? l->reached : l->before) - l->first + 1;
    l->first = 0;
}

/* Until the failure the step was in its account, and then nothing of use went on. */
static void _notice (struct ledger *l, int64_t now)
{
    int64_t failed = l->failed == 0 || l->failed > now ? now : l->failed;

    _move (l, LEDGER_NOTICING, moment_last (failed, l->since));
    l->noticing_ms = now - l->since;
    _count_repeated (l);
}

void ledger_look (struct job *job)
{
    struct ledger *l = &job->ledger;
    enum ledger_account account = _account (job);

    if (job->end_told)
        return;
    if (_stands (l->account) && l->account != LEDGER_NOTICING && !_stands (account)) {
        l->before = ledger_last_step (l);
        l->reached = 0;
        l->waited = false;
        account = LEDGER_STARTING;
    }
    if (_stands (account) && !_stands (l->account))
        _notice (l, job->run);
    if (account != l->account)
        _move (l, account, job->run);
    l->waited = l->waited || account == LEDGER_PROGRESS || account == LEDGER_REPEATED;
    l->untold = l->untold || (job->phase == JOB_GATHERS && job->gather.first);
    l->failed = 0;
}

void ledger_tell_again (struct job *job)
{
    struct ledger *l = &job->ledger;
    int64_t sign = job->replaced_sign;
    struct fact *fact;

    if (job->phase != JOB_RUNS)
        return;
    job->replaced_sign = NEVER;
    if (!l->untold)
        return;
    l->untold = false;
    fact = facts_add (&job->facts, FACT_AGAIN, NULL);
    fact->noticing_ms = l->noticing_ms;
    fact->pausing_ms = job->run - l->since;
    fact->step = job->budget.step;
    if (sign != NEVER)
        fact->seconds = (int)((job->now - sign + SECOND_MS / 2) / SECOND_MS);
}

struct ledger ledger_at (const struct job *job, int64_t now, int64_t run)
{
    struct ledger l = job->ledger;

    l.ms[l.account] += run - l.since;
    l.ms[LEDGER_SUSPENDED] = now - run;
    l.restarts = job->budget.used;
    return l;
}

void ledger_close (struct job *job)
{
    struct ledger *l = &job->ledger;
    int64_t lasted = job->run - job->launched;

    ledger_look (job);
    *l = ledger_at (job, job->now, job->run);
    _count_repeated (l);
    EACH_RANK (r, job) {
        l->replaced += r->replaced_by != NULL;
        if (rank_is_spare (r))
            l->idle_ms += lasted;
    }
}

int ledger_last_step (const struct ledger *l)
{
    return l->reached > l->before ? l->reached : l->before;
}

int64_t ledger_total (const struct ledger *l)
{
    int64_t total = 0;

    for (int i = 0; i < LEDGER_ACCOUNTS; i++)
        total += l->ms[i];
    return total;
}
