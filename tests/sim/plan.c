/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A plan is made from its seed alone: what the step is, what its programs do, what disturbs it.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../random.h"
#include "world.h"

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

/* So that a count of ranks is not the same as an option of the next plan. */
static uint64_t _state;

static int _below (int number)
{
    return (int)(random_next (&_state) % (unsigned int)number);
}

static bool _in (int number)
{
    return _below (number) == 0;
}

static int _between (int low, int high)
{
    return low + _below (high - low + 1);
}

static int _one_of (const int *value, size_t count)
{
    return value[_below ((int)count)];
}
#define ONE_OF(...) _one_of ((const int[]){ __VA_ARGS__ }, COUNT (((const int[]){ __VA_ARGS__ })))

static void _add (struct plan *plan, enum rules_name kind, int count, bool beside)
{
    for (int i = 0; i < count && plan->tasks < MOST_RANKS; i++) {
        plan->beside[plan->tasks] = beside;
        plan->kind[plan->tasks++] = kind;
    }
}

static void _make_list (struct plan *plan)
{
    bool ps = _in (3), chief = _in (2);

    _add (plan, RULES_CHIEF, chief, false);
    _add (plan, RULES_PS, ps ? _between (1, 2) : 0, false);
    _add (plan, RULES_WORKER, _between (ps || chief ? 1 : 2, 4), false);
    _add (plan, RULES_EVALUATOR, _in (4), false);
    _add (plan, RULES_ROLES, _in (4) ? _between (1, 2) : 0, true);
    if (_in (2))
        _add (plan, RULES_SPARE, _between (1, 3), false);
}

static void _make_nodes (struct plan *plan)
{
    int together = ONE_OF (1, 1, 2, 3);

    for (int rank = 0; rank < plan->tasks; rank++)
        plan->node[rank] = rank / together;
    plan->nodes = plan->node[plan->tasks - 1] + 1;
}

static void _make_options (struct plan *plan)
{
    struct rendezvous_config *c = &plan->config;
    bool spares = plan->kind[plan->tasks - 1] == RULES_SPARE;

    c->stop = _in (8) ? (enum stop_when)ONE_OF (STOP_WHEN_CHIEF, STOP_WHEN_WORKERS, STOP_WHEN_NEVER)
                      : STOP_WHEN_AUTO;
    c->stop_grace = ONE_OF (0, 2, 5, 10);
    c->eval_grace = ONE_OF (0, 3, 20);
    c->fail_grace = ONE_OF (0, 3, 30);
    c->restart.times = spares ? ONE_OF (1, 3, 5) : ONE_OF (0, 0, 1, 3);
    c->restart.any = _in (2);
    c->restart.total = c->restart.times && _in (4) ? c->restart.times + _below (3) : 0;
    c->restart.longest_pause = ONE_OF (1, 4, 60);
    c->lost_after = spares ? ONE_OF (5, 10, 20) : 0;
    c->watch.seconds = _in (4) ? ONE_OF (5, 10) : 0;
    c->watch.first = 15;
    c->watch.learns = plan->seed % 3 == 0;
    plan->no_kill = spares;
    plan->wait = _in (12) ? ONE_OF (1, 10) : 0;
    c->wait = plan->wait;
    plan->kill_wait = ONE_OF (3, 10, 30);
    plan->forwards = _in (2);
    plan->batch = _in (2);
    plan->delay = ONE_OF (1, 1, 20, 300);
    plan->sign_ms = ONE_OF (300, 1000, 2500);
    /* Then a sign may take longer than the least time. */
    plan->sign_ms *= c->watch.learns ? 3 : 1;
    plan->start_ms = ONE_OF (300, 1000, 2500, 4500);
    plan->lost_steps = ONE_OF (0, 1, 5, 20);
}

static void _make_script (struct plan *plan, int rank, int life, struct script *script)
{
    bool serves = plan->kind[rank] == RULES_PS || plan->beside[rank];
    bool fails = life < 2 && (serves ? _in (8) : _in (life == 0 ? 3 : 5));

    script->lasts = serves && !fails ? NEVER : _between (100, _in (4) ? 3000 : 40000);
    script->status = !fails    ? 0
                     : _in (3) ? ONE_OF (SIGKILL, SIGTERM, SIGSEGV, SIGBUS)
                               : W_EXITCODE (ONE_OF (1, 1, 2, 42, 42, 143, 7), 0);
    script->handles = _in (3) ? ONE_OF (100, 1500, 6000) : 0;
    if (_in (12))
        script->handles = NEVER;
    script->handled_status = W_EXITCODE (ONE_OF (0, 0, 143, 42), 0);
    script->leaves = _in (5) ? _between (100, 20000) : 0;
    script->hangs = NEVER;
    if (plan->config.watch.seconds && life == 0 && plan->kind[rank] == RULES_WORKER && _in (6)) {
        script->hangs = _between (5000, 20000);
        script->lasts = NEVER;
    }
}

static void _make_disturbance (struct plan *plan, struct disturbance *d)
{
    static const int kinds[] = { CUT,
                                 CUT,
                                 BLOCK,
                                 REJECT,
                                 RESET,
                                 RESET,
                                 RESET,
                                 DIE,
                                 KILL_PROGRAM,
                                 KILL_PROGRAM,
                                 KILL_SUPERVISOR,
                                 KILL_FORK_SERVER,
                                 KILL_SLURMSTEPD,
                                 HALF_OPEN,
                                 SUSPEND,
                                 WARN,
                                 CANCEL,
                                 KILL_SRUN,
                                 RESET_ALL,
                                 KILL_RENDEZVOUS,
                                 KILL_RENDEZVOUS };

    d->kind = (enum disturbance_kind)_one_of (kinds, COUNT (kinds));
    d->at = _between (50, _in (3) ? 4000 : 60000);
    d->lasts = _in (3) ? _between (200, 3000) : _in (4) ? _between (30000, 200000) : _between (1000, 30000);
    d->target = _below (d->kind <= REJECT || d->kind == DIE ? plan->nodes : plan->tasks);
    d->number = d->kind == WARN ? ONE_OF (SIGTERM, SIGUSR1, SIGINT) : ONE_OF (SIGKILL, SIGTERM, SIGSEGV);
    if (d->kind == DIE && !plan->no_kill)
        d->kind = RESET;
    if (d->kind == RESET)
        d->target %= plan->tasks;
}

static void _add_disturbance (struct plan *plan, const struct disturbance *d)
{
    int at = plan->disturbances++;

    for (; at > 0 && d->at < plan->disturbance[at - 1].at; at--)
        plan->disturbance[at] = plan->disturbance[at - 1];
    plan->disturbance[at] = *d;
}

static void _make_disturbances (struct plan *plan)
{
    int count = _in (8) ? 0 : _between (1, MOST_DISTURBANCES);

    for (int i = plan->disturbances; i < count; i = plan->disturbances) {
        struct disturbance d;

        _make_disturbance (plan, &d);
        _add_disturbance (plan, &d);
        /* Around SIGTSTP, and SIGSTOP two seconds later. */
        if (d.kind == SUSPEND && plan->disturbances < MOST_DISTURBANCES && _in (2)) {
            d.kind = RESET_ALL;
            d.at += _between (-40, 2500);
            _add_disturbance (plan, &d);
        }
    }
}

/* Where srun is: a node of the job, in a batch job. When that dies, so does the rendezvous, and the job. */
static void _place_srun (struct plan *plan)
{
    struct disturbance *first = plan->disturbance;

    plan->srun = plan->no_kill && plan->nodes > 2 && plan->seed % 4 == 1 ? 0 : -1;
    if (plan->srun < 0)
        return;
    if (plan->disturbances && plan->seed % 3 == 0) {
        first->kind = CUT;
        first->target = plan->srun;
    }
    for (struct disturbance *d = first; d < first + plan->disturbances; d++)
        if (d->kind == DIE && d->target == plan->srun)
            d->target++;
}

/* Its program fails again and again, soon after its start. */
static void _make_loop (struct plan *plan, int rank)
{
    for (int life = 0; life < 3; life++) {
        struct script *script = &plan->script[rank][life];

        if (script->hangs != NEVER)
            return;
        script->lasts = _between (100, 9000);
        script->status = life == 0 ? ONE_OF (SIGKILL, SIGBUS, W_EXITCODE (42, 0), W_EXITCODE (1, 0))
                                   : plan->script[rank][0].status;
    }
}

/* With a chief and a ps workers serve, and the chief may hang. */
static void _make_mute (struct plan *plan)
{
    bool ps = false;

    for (int i = 0; i < plan->tasks; i++)
        ps = ps || plan->kind[i] == RULES_PS;
    if (!ps || plan->kind[0] != RULES_CHIEF)
        return;
    for (int i = 0; i < plan->tasks; i++)
        plan->mute[i] = plan->kind[i] == RULES_WORKER;
    if (_in (2)) {
        plan->script[0][0].hangs = _between (5000, 20000);
        plan->script[0][0].lasts = NEVER;
    }
}

/* A loss, and not much else: a short outage of another node, or the node's last connection was just reset. */
static void _make_loss (struct plan *plan)
{
    struct disturbance *d = plan->disturbance;

    plan->disturbances = 2;
    if (_in (2)) {
        plan->disturbances = 1 + _below (2);
        d[0].kind = _in (2) ? DIE : KILL_SUPERVISOR;
        d[0].target = _below (d[0].kind == DIE ? plan->nodes : plan->tasks);
        if (d[0].kind == DIE && d[0].target == plan->srun)
            d[0].target++;
        d[1].kind = CUT;
        d[1].at = d[0].at + _below (plan->config.lost_after * 1000);
        d[1].target = _below (plan->nodes);
        d[1].lasts = _below (1000 * plan->config.lost_after);
    } else {
        d[0].kind = RESET_ALL;
        d[1].kind = CUT;
        d[1].at = d[0].at + _below (200);
        d[1].target = _below (plan->nodes);
        d[1].lasts = _between (1000, 200000);
    }
}

/* A connection is refused for some seconds; later Slurm asks the step to end. */
static void _make_refusal (struct plan *plan)
{
    struct disturbance *d = plan->disturbance;

    plan->disturbances = 3;
    d[0].kind = RESET_ALL;
    d[0].at = _between (50, 1000);
    d[1].kind = REJECT;
    d[1].at = d[0].at + _below (100);
    d[1].target = _below (plan->nodes);
    d[1].lasts = _between (6000, 9000);
    d[2].kind = WARN;
    d[2].at = d[1].at + 3 * d[1].lasts + _between (1500, 10000);
    d[2].target = 0;
    d[2].number = SIGTERM;
}

/* The evaluator, or an auxiliary task that it may need, fails when the work is done. */
static void _make_late_failure (struct plan *plan)
{
    int evaluator = -1, beside = -1, who;

    for (int i = 0; i < plan->tasks; i++) {
        evaluator = plan->kind[i] == RULES_EVALUATOR ? i : evaluator;
        beside = plan->beside[i] ? i : beside;
    }
    if (evaluator < 0)
        return;
    for (int i = 0; i < plan->tasks; i++) {
        plan->script[i][0].lasts =
            plan->kind[i] == RULES_PS || plan->beside[i] ? NEVER : _between (100, 5000);
        plan->script[i][0].status = 0;
    }
    plan->config.eval_grace = 20;
    plan->script[evaluator][0].lasts = 24000;
    who = beside < 0 || _in (3) ? evaluator : beside;
    plan->script[who][0].lasts = _between (5000, 12000);
    plan->script[who][0].status = W_EXITCODE (42, 0);
    plan->disturbances = 0;
}

/* Some nodes are bad. */
static void _make_preflight (struct plan *plan)
{
    static const int healths[] = { FAILS, FAILS, HANGS, UNTOLD, SLOW, DEAF };
    int bad = _in (3) ? 0 : _between (1, 2);

    plan->config.task.preflight = _in (4) ? "yes,warn,/check,timeout=5" : "yes,/check,timeout=5";
    preflight_parse (&plan->config.preflight, plan->config.task.preflight, NULL);
    plan->config.timeout = 60;
    for (int i = 0; i < bad; i++)
        plan->health[_below (plan->nodes)] = (enum health)_one_of (healths, COUNT (healths));
    if (_in (4)) {
        plan->firewall[0] = _below (plan->nodes);
        plan->firewall[1] = _below (plan->nodes);
    }
}

/* What was added last is made last, so that what a seed had before stays nearly as it was. */
static void _make_rare (struct plan *plan)
{
    struct rendezvous_config *c = &plan->config;

    plan->skew = ONE_OF (0, 0, 250);
    plan->tee = ONE_OF (0, 0, 0, 1800);
    /* Longer than a connection that was reset is waited for. */
    if (c->lost_after && _in (6))
        c->lost_after = 90;
    if (c->watch.seconds && c->stop == STOP_WHEN_AUTO && _in (2))
        _make_mute (plan);
    if (_in (8)) {
        _make_loop (plan, _below (plan->tasks));
        /* A history has no room for all that could be. */
        c->restart.total = c->restart.times ? c->restart.times + 3 : 0;
    }
    if (c->restart.times && c->lost_after == 0 && _in (4))
        _make_late_failure (plan);
    for (int i = 0; i < plan->disturbances; i++) {
        struct disturbance *d = &plan->disturbance[i];

        if (d->kind == KILL_PROGRAM && _in (3))
            d->kind = KILL_GROUP;
        if (d->kind == CUT && d->target != plan->srun && _in (20))
            d->lasts = 4200000;
    }
    if (c->lost_after && plan->disturbances > 1 && _in (6))
        _make_loss (plan);
    else if (c->lost_after == 0 && plan->disturbances > 2 && _in (12))
        _make_refusal (plan);
    plan->firewall[0] = plan->firewall[1] = -1;
    if (plan->nodes > 1 && _in (5))
        _make_preflight (plan);
    /* Spares for the preflight alone. */
    if (plan->config.preflight.items && c->lost_after && _in (4)) {
        c->restart.times = c->restart.total = c->lost_after = 0;
        plan->no_kill = false;
        plan->srun = -1;
    }
}

/* The tasks are asked to save; when the time is over, Slurm ends the job. */
static void _make_limit (struct plan *plan)
{
    struct disturbance d = { .kind = LIMIT, .at = _between (3000, 40000) };

    if (plan->disturbances + 2 > MOST_DISTURBANCES || !_in (3))
        return;
    plan->config.requeue = ONE_OF (2, 20, 60);
    _add_disturbance (plan, &d);
    d.kind = CANCEL;
    d.at += plan->config.requeue * 1000;
    _add_disturbance (plan, &d);
}

void plan_make (struct plan *plan, uint64_t seed)
{
    memset (plan, 0, sizeof (*plan));
    plan->seed = seed;
    /* Not 0, and not like the next one. */
    _state = (seed + 1) * UINT64_C (0x9e3779b97f4a7c15) | 1;
    for (int i = 0; i < 8; i++)
        random_next (&_state);
    _make_list (plan);
    _make_nodes (plan);
    _make_options (plan);
    for (int rank = 0; rank < plan->tasks; rank++)
        for (int life = 0; life < 3; life++)
            _make_script (plan, rank, life, &plan->script[rank][life]);
    _make_disturbances (plan);
    _place_srun (plan);
    _make_rare (plan);
    _make_limit (plan);
}

/* For a reader. */

const char *plan_role (const struct plan *plan, int rank)
{
    static const char *const name[] = {
        [RULES_CHIEF] = "chief",   [RULES_MASTER] = "master",       [RULES_PS] = "ps",
        [RULES_WORKER] = "worker", [RULES_EVALUATOR] = "evaluator", [RULES_ROLES] = "+data",
        [RULES_SPARE] = "spare",
    };

    return name[plan->kind[rank]];
}

static const char *_disturbance_name (enum disturbance_kind kind)
{
    static const char *const name[] = {
        [CUT] = "cut off",
        [BLOCK] = "cut off from srun's host",
        [REJECT] = "refused by srun's firewall",
        [RESET] = "connection reset",
        [DIE] = "node dies",
        [KILL_PROGRAM] = "program killed",
        [KILL_SUPERVISOR] = "supervisor killed",
        [KILL_FORK_SERVER] = "fork server killed",
        [KILL_SLURMSTEPD] = "slurmstepd killed",
        [HALF_OPEN] = "connection half open",
        [SUSPEND] = "job suspended",
        [WARN] = "warned by Slurm",
        [CANCEL] = "cancelled",
        [KILL_SRUN] = "srun killed",
        [RESET_ALL] = "all connections reset",
        [KILL_RENDEZVOUS] = "rendezvous killed",
        [LIMIT] = "to save before the limit",
        [KILL_GROUP] = "SIGTERM from a program to its group",
    };

    return name[kind];
}

void plan_print (const struct plan *plan, int disturbances)
{
    static const char *const health[] = { "healthy", "fails", "hangs", "untold", "slow", "deaf" };
    const struct rendezvous_config *c = &plan->config;

    printf ("seed %llu:", (unsigned long long)plan->seed);
    for (int rank = 0; rank < plan->tasks; rank++)
        printf (" %s@n%d", plan_role (plan, rank), plan->node[rank] + 1);
    if (plan->srun >= 0)
        printf (", srun on n%d", plan->srun + 1);
    for (int i = 0; c->task.preflight && i < plan->nodes; i++)
        printf ("%s %s", i ? "" : c->task.preflight, health[plan->health[i]]);
    printf (
        "\n    stop %d, grace %d, eval %d, fail %d, restart %d%s at most %d s, lost after %d, watch %d%s, "
        "wait %d, "
        "KillWait %d%s%s, delay %d ms\n",
        c->stop, c->stop_grace, c->eval_grace, c->fail_grace, c->restart.times, c->restart.any ? ",any" : "",
        c->restart.longest_pause, c->lost_after, c->watch.seconds, c->watch.learns ? " auto" : "", plan->wait,
        plan->kill_wait, plan->forwards ? ", forwards" : "", plan->batch ? ", batch" : "", (int)plan->delay);
    for (int i = 0; i < disturbances; i++) {
        const struct disturbance *d = &plan->disturbance[i];

        printf ("    at %7.3f: %s, %s %d, for %.1f s, signal %d\n", (double)d->at / 1000,
                _disturbance_name (d->kind), d->kind <= REJECT || d->kind == DIE ? "node" : "rank",
                d->kind <= REJECT || d->kind == DIE ? d->target + 1 : d->target, (double)d->lasts / 1000,
                d->number);
    }
}
