/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What promises share: what the documents say of a list, an option or an end, and what a spectator knows at
 * a moment of a history.
 */
#include "config.h"

#include "oracle.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>

/* What the documents say. */

int oracle_code (int status)
{
    return WIFSIGNALED (status) ? 128 + WTERMSIG (status) : WEXITSTATUS (status);
}

/*
 * guide/restarts.md: "a signal, except SIGSEGV, SIGILL, SIGFPE and SIGABRT; exit codes 42 and 143"; with
 * any "every failure, except exit codes 2, 126 and 127".
 */
bool oracle_covers (const struct plan *plan, int status)
{
    int signal = WIFSIGNALED (status) ? WTERMSIG (status) : 0, code = oracle_code (status);

    if (plan->config.restart.times == 0 || status == 0)
        return false;
    if (plan->config.restart.any)
        return signal || (code != 2 && code != 126 && code != 127);
    if (signal)
        return signal != SIGSEGV && signal != SIGILL && signal != SIGFPE && signal != SIGABRT;
    return code == 42 || code == 143;
}

bool oracle_is_member (const struct plan *plan, int place)
{
    return place >= 0 && !plan->beside[place] && plan->kind[place] != RULES_EVALUATOR;
}

bool oracle_has (const struct plan *plan, enum rules_name kind)
{
    for (int i = 0; i < plan->tasks; i++)
        if (plan->kind[i] == kind)
            return true;
    return false;
}

bool oracle_has_spares (const struct plan *plan)
{
    return plan->config.lost_after > 0;
}

/*
 * design/ending.md: "every ps, and every auxiliary task, if the policy waits for something, so not under
 * --tf-stop=never; with a ps and a chief, the workers as well, unless --tf-stop=workers waits for them."
 */
bool oracle_serves (const struct plan *plan, int place)
{
    bool works = plan->kind[place] == RULES_WORKER && !plan->beside[place];

    if (plan->config.stop == STOP_WHEN_NEVER)
        return false;
    return plan->beside[place] || plan->kind[place] == RULES_PS
           || (works && plan->config.stop != STOP_WHEN_WORKERS && oracle_has (plan, RULES_PS)
               && oracle_has (plan, RULES_CHIEF));
}

int64_t oracle_interval_ms (const struct plan *plan)
{
    int seconds = plan->config.lost_after < 20 ? 1 : plan->config.lost_after / 10;

    return 1000 * (seconds < 5 ? seconds : 5);
}

const struct note *oracle_told (const struct history *h, enum fact_kind kind)
{
    EACH (note, h)
        if (note->kind == TOLD && note->number == (int)kind)
            return note;
    return NULL;
}

bool oracle_is_refused (const struct history *h)
{
    const struct note *over = oracle_told (h, FACT_OVER);

    return over && over->status == FINISH_REFUSED;
}

/* Disturbances. */

bool oracle_cuts (enum disturbance_kind kind)
{
    return kind == CUT || kind == BLOCK || kind == REJECT;
}

bool oracle_resets (enum disturbance_kind kind)
{
    return kind == RESET || kind == HALF_OPEN || kind == RESET_ALL || kind == KILL_RENDEZVOUS;
}

bool oracle_breaks (enum disturbance_kind kind)
{
    return oracle_cuts (kind) || oracle_resets (kind);
}

bool oracle_of_slurm (enum disturbance_kind kind)
{
    return kind == WARN || kind == CANCEL || kind == KILL_SRUN || kind == LIMIT;
}

bool oracle_is_sigterm (const struct history *h, const struct note *note)
{
    return note->kind == DISTURBED
           && (note->status == CANCEL || note->status == LIMIT
               || (note->status == WARN && h->plan->disturbance[note->number].number == SIGTERM));
}

/* So many of them have begun before. */
int oracle_began (const struct history *h, bool (*is_one) (enum disturbance_kind), int64_t before)
{
    int count = 0;

    EACH (note, h)
        count +=
            note->kind == DISTURBED && note->at <= before && is_one ((enum disturbance_kind)note->status);
    return count;
}

bool oracle_is_any (enum disturbance_kind kind)
{
    return kind < DISTURBANCE_KINDS;
}

bool oracle_is_suspension (enum disturbance_kind kind)
{
    return kind == SUSPEND;
}

/*
 * design/failures.md: "A supervisor's lease is real time, even while the job is suspended": one that is
 * stopped cannot connect again.
 */
bool oracle_is_lost_while_suspended (const struct history *h)
{
    return oracle_has_spares (h->plan) && oracle_began (h, oracle_is_suspension, NEVER)
           && oracle_began (h, oracle_breaks, NEVER);
}

/*
 * design/failures.md: "A suspension that begins while a node is cut off is not reported by that node": so
 * the time of that node counts on.
 */
static bool _meets_suspension (const struct plan *plan, const struct disturbance *cut)
{
    /*
     * Its connection may have been reset a moment before. An attempt that was refused is followed by another
     * one after 30 s at most.
     */
    for (const struct disturbance *d = plan->disturbance; d < plan->disturbance + plan->disturbances; d++)
        if (d->kind == SUSPEND && d->at >= cut->at - 1000 && d->at <= cut->at + cut->lasts + 31000)
            return true;
    return false;
}

/*
 * guide/lost-nodes.md: "An unreachable node that answers in time goes on as if nothing had happened."
 * design/ending.md: "an outage that Slurm survives … must not end a training". A reset alone is no news.
 */
bool oracle_is_harmless (const struct history *h, int number)
{
    const struct plan *plan = h->plan;
    const struct disturbance *d = &plan->disturbance[number];
    /* Each side may have heard an interval before; an attempt, a pause, and what is said then take their
     * time. */
    int64_t limit = oracle_has_spares (plan) ? (plan->config.lost_after - 2) * 1000
                                                   - 2 * oracle_interval_ms (plan) - 5 * plan->delay
                                             : 200000;
    int same = 0;

    /* design/ending.md: "a reset | 1 minute". */
    for (int i = 0; i < plan->disturbances && !oracle_has_spares (plan); i++)
        limit = oracle_resets (plan->disturbance[i].kind) ? 20000 : limit;

    /* design/failures.md: "the report does not arrive, I leave": 60 s, and an attempt each 30 s. */
    if (d->kind == REJECT && oracle_has_spares (plan))
        limit = moment_first (limit, 29000);
    if (oracle_is_lost_while_suspended (h))
        return false;
    if (oracle_resets (d->kind) || d->kind == SUSPEND)
        return true;
    for (int i = 0; i < plan->disturbances; i++)
        same += oracle_cuts (plan->disturbance[i].kind)
                && (plan->disturbance[i].target == d->target || d->target == plan->srun
                    || plan->disturbance[i].target == plan->srun);
    return oracle_cuts (d->kind) && d->lasts < limit && same == 1 && !_meets_suspension (plan, d);
}

bool oracle_is_calm (const struct history *h, int64_t until)
{
    EACH (note, h)
        if (note->kind == DISTURBED && note->at <= until && !oracle_is_harmless (h, note->number))
            return false;
    return true;
}

/* Between two moments, without the time in which the job was suspended. */
int64_t oracle_running_ms (const struct history *h, int64_t from, int64_t until)
{
    int64_t stood = 0, since = NEVER;

    EACH (note, h) {
        if (note->kind == SUSPENDED)
            since = note->at > from ? note->at : from;
        if (note->kind == RESUMED && since != NEVER) {
            int64_t end = note->at < until ? note->at : until;

            stood += end > since ? end - since : 0;
            since = NEVER;
        }
    }
    if (since != NEVER && since < until)
        stood += until - since;
    return until - from - stood;
}

void oracle_follow (const struct history *h, struct alive *alive, const struct note *note)
{
    switch (note->kind) {
        case BEGAN:
            alive->program[note->rank] = alive->tree[note->rank] = true;
            alive->began[note->rank] = *note;
            break;
        case ENDED: alive->program[note->rank] = false; break;
        case CLEAR: alive->tree[note->rank] = false; break;
        case DISTURBED:
        case CALMED:
            if (note->status == CUT)
                alive->isolated[h->plan->disturbance[note->number].target] +=
                    note->kind == DISTURBED ? 1 : -1;
            break;
        default: break;
    }
}

bool oracle_reaches (const struct history *h, const struct alive *alive, int rank)
{
    return alive->isolated[h->plan->node[rank]] == 0;
}

/* The job. */

void oracle_follow_course (const struct history *h, struct course *course, const struct note *note)
{
    if (note->kind == BEGAN && note->place >= 0)
        course->ended[note->place] = course->failed[note->place] = false;
    if (note->kind == TOLD && note->number == FACT_HANG)
        course->hung = true;
    if (note->kind != ENDED || note->place < 0)
        return;
    course->ended[note->place] = true;
    course->failed[note->place] = note->status != 0;
    course->covered = course->covered || oracle_covers (h->plan, note->status);
}

static bool _chief_has_ended (const struct plan *plan, const struct course *course)
{
    int worker = -1;

    for (int i = plan->tasks - 1; i >= 0; i--) {
        if (plan->kind[i] == RULES_CHIEF)
            return course->ended[i];
        if (plan->kind[i] == RULES_WORKER)
            worker = i;
    }
    return worker >= 0 && course->ended[worker];
}

/* All of the cluster that work, or all but evaluators; or one of them that has failed. */
static bool _have_ended (const struct plan *plan, const struct course *course, bool all_members)
{
    for (int i = 0; i < plan->tasks; i++)
        if ((plan->kind[i] == RULES_CHIEF || plan->kind[i] == RULES_WORKER
             || (all_members && oracle_is_member (plan, i) && plan->kind[i] != RULES_SPARE))
            && !course->ended[i])
            return false;
    return true;
}

static bool _has_failed (const struct plan *plan, const struct course *course, bool ps)
{
    for (int i = 0; i < plan->tasks; i++)
        if (oracle_is_member (plan, i) && course->failed[i] && (plan->kind[i] == RULES_PS || !ps))
            return true;
    return false;
}

bool oracle_is_over (const struct plan *plan, const struct course *course)
{
    bool ps = oracle_has (plan, RULES_PS), chief = oracle_has (plan, RULES_CHIEF);

    switch (plan->config.stop) {
        case STOP_WHEN_CHIEF: return _chief_has_ended (plan, course);
        case STOP_WHEN_WORKERS: return _have_ended (plan, course, false);
        case STOP_WHEN_NEVER: return false;
        default: break;
    }
    if (_has_failed (plan, course, ps))
        return true;
    if (ps)
        return chief ? _chief_has_ended (plan, course) : _have_ended (plan, course, false);
    return _have_ended (plan, course, true);
}

/* Then its supervisor ends the task. */
bool oracle_loses_slurmstepd (const struct history *h, int rank, int64_t until)
{
    EACH (note, h)
        if (note->at <= until && note->kind == DISTURBED && note->status == KILL_SLURMSTEPD
            && note->rank == rank)
            return true;
    return false;
}

/* Why a promise is broken. */

static char _room[256];

const char *oracle_tell (const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (_room, sizeof (_room), fmt, ap);
    va_end (ap);
    return _room;
}

const char *oracle_broken (const struct note *note, const char *what, int rank)
{
    return oracle_tell ("at %.3f: rank %d: %s (%d)", note ? (double)note->at / 1000 : 0.0,
                        note ? note->rank : -1, what, rank);
}
