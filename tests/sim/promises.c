/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What users are promised, each sentence as a function over what was seen. None of them asks the code that is
 * judged: the rules of restarts and ends stand here once more, as the documents have them.
 */
#include "config.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "world.h"

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))
/* NOLINTNEXTLINE(bugprone-macro-parentheses): it declares its first argument. */
#define EACH(note, h) for (const struct note *note = (h)->note; note < (h)->note + (h)->notes; note++)

/* What the documents say. */

static int _code (int status)
{
    return WIFSIGNALED (status) ? 128 + WTERMSIG (status) : WEXITSTATUS (status);
}

/*
 * guide.md, Restarts: "A failure is a signal that does not show a defect of the program (all but SIGSEGV,
 * SIGILL, SIGFPE and SIGABRT), or the exit code 42 or 143 … With --tf-restart=N,any it is every failure but
 * the exit codes 2, 126 and 127."
 */
static bool _is_covered (const struct plan *plan, int status)
{
    int signal = WIFSIGNALED (status) ? WTERMSIG (status) : 0, code = _code (status);

    if (plan->config.restart.times == 0 || status == 0)
        return false;
    if (plan->config.restart.any)
        return signal || (code != 2 && code != 126 && code != 127);
    if (signal)
        return signal != SIGSEGV && signal != SIGILL && signal != SIGFPE && signal != SIGABRT;
    return code == 42 || code == 143;
}

static bool _is_member (const struct plan *plan, int place)
{
    return place >= 0 && !plan->beside[place] && plan->kind[place] != RULES_EVALUATOR;
}

static bool _has (const struct plan *plan, enum rules_name kind)
{
    for (int i = 0; i < plan->tasks; i++)
        if (plan->kind[i] == kind)
            return true;
    return false;
}

static bool _has_spares (const struct plan *plan)
{
    return plan->config.lost_after > 0;
}

/* Disturbances. */

static bool _cuts (enum disturbance_kind kind)
{
    return kind == CUT || kind == BLOCK || kind == REJECT;
}

static bool _resets (enum disturbance_kind kind)
{
    return kind == RESET || kind == HALF_OPEN || kind == RESET_ALL || kind == KILL_RENDEZVOUS;
}

static bool _breaks (enum disturbance_kind kind)
{
    return _cuts (kind) || _resets (kind);
}

static bool _of_slurm (enum disturbance_kind kind)
{
    return kind == WARN || kind == CANCEL || kind == KILL_SRUN;
}

/* So many of them have begun before. */
static int _began (const struct history *h, bool (*is_one) (enum disturbance_kind), int64_t before)
{
    int count = 0;

    EACH (note, h)
        count +=
            note->kind == DISTURBED && note->at <= before && is_one ((enum disturbance_kind)note->status);
    return count;
}

static bool _is_any (enum disturbance_kind kind)
{
    return kind < DISTURBANCE_KINDS;
}

static bool _is_suspension (enum disturbance_kind kind)
{
    return kind == SUSPEND;
}

/*
 * design.md, Leases: "A supervisor's lease is real time, also while the job is suspended": one that is
 * stopped cannot connect again.
 */
static bool _is_lost_while_suspended (const struct history *h)
{
    return _has_spares (h->plan) && _began (h, _is_suspension, NEVER) && _began (h, _breaks, NEVER);
}

/*
 * design.md, A suspended job: "A suspension that begins while a node is cut off is not told by it": so the
 * time of that node counts on.
 */
static bool _meets_suspension (const struct plan *plan, const struct disturbance *cut)
{
    /* An attempt that was refused is followed by another one after 30 s at most. */
    for (const struct disturbance *d = plan->disturbance; d < plan->disturbance + plan->disturbances; d++)
        if (d->kind == SUSPEND && d->at >= cut->at && d->at <= cut->at + cut->lasts + 31000)
            return true;
    return false;
}

/*
 * guide.md, Spare tasks: "A node that was silent for less goes on as if nothing had been." design.md: "an
 * outage that Slurm survives … must not end a training". A reset alone is no news.
 */
static bool _is_harmless (const struct history *h, int number)
{
    const struct plan *plan = h->plan;
    const struct disturbance *d = &plan->disturbance[number];
    int interval = plan->config.lost_after < 20 ? 1 : plan->config.lost_after / 10;
    /* Each side may have heard an interval before; an attempt, a pause, and what is said then take their
     * time. */
    int64_t limit =
        _has_spares (plan) ? (plan->config.lost_after - 2 * interval - 2) * 1000 - 5 * plan->delay : 200000;
    int same = 0;

    /* design.md: "After a reset it is a minute". */
    for (int i = 0; i < plan->disturbances && !_has_spares (plan); i++)
        limit = _resets (plan->disturbance[i].kind) ? 20000 : limit;

    if (_is_lost_while_suspended (h))
        return false;
    if (_resets (d->kind) || d->kind == SUSPEND)
        return true;
    for (int i = 0; i < plan->disturbances; i++)
        same += _cuts (plan->disturbance[i].kind)
                && (plan->disturbance[i].target == d->target || d->target == plan->srun
                    || plan->disturbance[i].target == plan->srun);
    return _cuts (d->kind) && d->lasts < limit && same == 1 && !_meets_suspension (plan, d);
}

static bool _is_calm (const struct history *h, int64_t until)
{
    EACH (note, h)
        if (note->kind == DISTURBED && note->at <= until && !_is_harmless (h, note->number))
            return false;
    return true;
}

/* Between two moments, without the time in which the job was suspended. */
static int64_t _running_ms (const struct history *h, int64_t from, int64_t until)
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

/* Who is alive. */

struct alive {
    bool program[MOST_RANKS], tree[MOST_RANKS];
    struct note began[MOST_RANKS];
    int isolated[MOST_NODES];
};

static void _follow (const struct history *h, struct alive *alive, const struct note *note)
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

static bool _reaches (const struct history *h, const struct alive *alive, int rank)
{
    return alive->isolated[h->plan->node[rank]] == 0;
}

/* Promises. */

static char _room[256];

static const char *_broken (const struct note *note, const char *what, int rank)
{
    snprintf (_room, sizeof (_room), "at %.3f: rank %d: %s (%d)", note ? (double)note->at / 1000 : 0.0,
              note ? note->rank : -1, what, rank);
    return _room;
}

/*
 * guide.md, Spare tasks: "… so that no two tasks with the same place can ever reach the others". manual:
 * "It never starts before every process of the former run is dead".
 */
static const char *_never_two_in_one_place (const struct history *h)
{
    struct alive alive = { 0 };

    EACH (note, h) {
        if (note->kind == BEGAN && alive.tree[note->rank])
            return _broken (note, "a life begins while the former one is alive", note->life);
        _follow (h, &alive, note);
        if (note->kind != BEGAN && note->kind != CALMED)
            continue;
        for (int i = 0; i < h->plan->tasks; i++)
            for (int j = 0; j < i; j++)
                if (alive.tree[i] && alive.tree[j] && alive.began[i].place == alive.began[j].place
                    && _reaches (h, &alive, i) && _reaches (h, &alive, j))
                    return _broken (note, "two are alive in one place", alive.began[i].place);
    }
    return NULL;
}

/*
 * design.md, promise 1: "No program starts with a missing, partial or different dictionary." guide.md: "all
 * tasks of the step are stopped and restarted with a new TF_CONFIG".
 */
static const char *_one_dictionary (const struct history *h)
{
    struct alive alive = { 0 };

    EACH (note, h) {
        if (note->kind == BEGAN) {
            if (note->place < 0 || h->place[note->number][note->rank] != note->place)
                return _broken (note, "begins in a place that its dictionary does not give it", note->place);
            for (int i = 0; i < h->plan->tasks; i++)
                if (alive.program[i] && alive.began[i].number != note->number && _reaches (h, &alive, i)
                    && _reaches (h, &alive, note->rank))
                    return _broken (note, "another program is alive with another dictionary", i);
        }
        _follow (h, &alive, note);
    }
    return NULL;
}

/*
 * guide.md, Restarts: "without a ps | any task | all"; "they are stopped, and start when the last one has
 * ended." So the members of such a cluster are in the same life.
 */
static const char *_all_begin_together (const struct history *h)
{
    struct alive alive = { 0 };

    EACH (note, h) {
        if (note->kind == BEGAN && note->life > 0 && !_has (h->plan, RULES_PS)
            && _is_member (h->plan, note->place))
            for (int i = 0; i < h->plan->tasks; i++)
                if (alive.program[i] && _is_member (h->plan, alive.began[i].place)
                    && alive.began[i].life < note->life && _reaches (h, &alive, i))
                    return _broken (note, "begins while another one is in its former life", i);
        _follow (h, &alive, note);
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
 * guide.md, Restarts: "'All' is every task of the cluster but an evaluator, also one that had ended with 0".
 * With srun's --wait the first end is the beginning of the last; and what one that is cut off was told may
 * arrive when it is too late.
 */
static const char *_none_is_left_out (const struct history *h)
{
    if (_has (h->plan, RULES_PS) || h->plan->wait || _began (h, _breaks, NEVER) || !_is_calm (h, NEVER))
        return NULL;
    EACH (note, h) {
        if (note->kind != BEGAN || note->life == 0 || !_is_member (h->plan, note->place))
            continue;
        for (int place = 0; place < h->plan->tasks; place++)
            if (_is_member (h->plan, place) && h->plan->kind[place] != RULES_SPARE
                && !_begins_life (h, place, note->life))
                return _broken (note, "all begin again without one", place);
    }
    return NULL;
}

/*
 * guide.md: "a task that fails is restarted where it was, at most N times in a row without progress, and
 * ten times N in all". manual, SPARE TASKS: "Tasks that are lost while all are being stopped are replaced,
 * too, and use none": then an auxiliary task or an evaluator that was just restarted begins again. Progress:
 * a life that came to a higher step than its task had before, or lasted a minute. What was lost with a
 * connection the rendezvous cannot know.
 */
static const char *_at_most_n_restarts (const struct history *h)
{
    const struct restart_rule *rule = &h->plan->config.restart;
    int last[MOST_RANKS], row[MOST_RANKS] = { 0 }, highest[MOST_RANKS] = { 0 }, places = 0, all = 0;
    int64_t began[MOST_RANKS] = { 0 };
    /* With a ps, a task that was restarted alone counts its own steps. */
    bool calm = !_began (h, _is_any, NEVER) && !_has (h->plan, RULES_PS);

    for (int i = 0; i < MOST_RANKS; i++)
        last[i] = -1;
    EACH (note, h) {
        if (note->kind == TOLD && note->place < 0 && note->number != FACT_GRACE)
            return _broken (note, "fewer than no restarts are left", note->place);
        places += note->kind == PLACES;
        if (note->kind == ENDED && note->place >= 0) {
            if (note->number > highest[note->place] || note->at - began[note->place] >= 60000)
                memset (row, 0, sizeof (row));
            if (note->number > highest[note->place])
                highest[note->place] = note->number;
        }
        if (note->kind != BEGAN || note->place < 0)
            continue;
        if (note->status > all)
            memset (row, 0, sizeof (row));
        all = note->status > all ? note->status : all;
        if (note->life <= last[note->place])
            return _broken (note, "a life with this number has begun before", note->life);
        if (note->life > restart_rule_total (rule) + (_is_member (h->plan, note->place) ? 0 : places))
            return _broken (note, "more lives than restarts", note->life);
        row[note->place] += note->life > 0;
        began[note->place] = note->at;
        if (calm && row[note->place] > rule->times)
            return _broken (note, "more restarts in a row, without progress", row[note->place]);
        last[note->place] = note->life;
    }
    return NULL;
}

/* design.md, promise 5: "Every wait ends." 6: "No process … of ours outlives the step". */
static const char *_everything_ends (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct rendezvous_config *c = &plan->config;
    int64_t last = 100000, bound = 100 + 40 + c->stop_grace + c->eval_grace + c->fail_grace;
    bool cut = _began (h, _cuts, NEVER) > 0, asked = _began (h, _of_slurm, NEVER) > 0, hangs = false;
    bool ends = h->all_ended;

    for (int i = 0; i < plan->tasks; i++)
        hangs = hangs || plan->script[i][0].hangs != NEVER;
    /* guide.md: "--tf-stop=never": nothing is stopped. manual, HANGS: not "that Slurm has asked to end by
     * SIGTERM". */
    if (c->stop == STOP_WHEN_NEVER || (hangs && (asked || c->stop != STOP_WHEN_AUTO)))
        return NULL;
    EACH (note, h)
        if (note->kind == DISTURBED || note->kind == CALMED)
            last = note->at;
        /* srun waits for it, as without the plugin; nothing else does. */
        else if (note->kind == UNHEARD)
            ends = !h->alive_at_end;
    bound += (restart_rule_total (&c->restart) + 1)
             * (60 + c->stop_grace + c->restart.longest_pause + c->watch.seconds
                + (c->watch.learns ? 10 * c->watch.first : 0));
    /* design.md: "after a timeout it is five minutes"; a supervisor without an answer stays ten, one that was
       cut off an hour. */
    bound += cut || _began (h, _is_any, NEVER) ? 600 + 360 + 300 : 0;
    bound += cut ? 3600 : 0;
    if (ends && h->end <= last + 1000 * bound)
        return NULL;
    snprintf (_room, sizeof (_room), "%s after %.0f s", ends ? "all have ended only" : "something goes on",
              (double)(h->end - last) / 1000);
    return _room;
}

/* guide.md: "The table at the end says …"; "the last line names the one that did so first": once. */
static const char *_ends_are_told_once (const struct history *h)
{
    int ended = 0, over = 0;
    bool asked = h->plan->wait > 0;

    EACH (note, h) {
        ended += note->kind == TOLD && note->number == FACT_ENDED;
        over += note->kind == TOLD && note->number == FACT_OVER;
        if (ended > 1 || over > 1)
            return _broken (note, "told twice", note->number);
        if (note->kind == SRUN_ENDED && ended == 0 && !asked && !_began (h, _is_any, note->at))
            return _broken (note, "srun ends, and has not told how tasks ended", 0);
    }
    return NULL;
}

/* manual: "If srun ends, Slurm ends the step"; and it does not end by itself before all tasks have. */
static const char *_none_runs_when_srun_has_ended (const struct history *h)
{
    struct alive alive = { 0 };
    bool cut = _began (h, _of_slurm, NEVER) > 0;

    EACH (note, h) {
        _follow (h, &alive, note);
        if (note->kind != SRUN_ENDED || cut || h->plan->wait)
            continue;
        for (int i = 0; i < h->plan->tasks; i++)
            if (alive.program[i] && _reaches (h, &alive, i))
                return _broken (note, "srun ends, and a program runs", i);
    }
    return NULL;
}

/* The job, as guide.md and the manual (THE END OF A JOB) say when it is over. */

struct course {
    bool ended[MOST_RANKS], failed[MOST_RANKS]; /* by place, its present life */
    bool covered; /* a failure that is restarted */
    bool hung;
};

static void _follow_course (const struct history *h, struct course *course, const struct note *note)
{
    if (note->kind == BEGAN && note->place >= 0)
        course->ended[note->place] = course->failed[note->place] = false;
    if (note->kind == TOLD && note->number == FACT_HANG)
        course->hung = true;
    if (note->kind != ENDED || note->place < 0)
        return;
    course->ended[note->place] = true;
    course->failed[note->place] = note->status != 0;
    course->covered = course->covered || _is_covered (h->plan, note->status);
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
             || (all_members && _is_member (plan, i) && plan->kind[i] != RULES_SPARE))
            && !course->ended[i])
            return false;
    return true;
}

static bool _has_failed (const struct plan *plan, const struct course *course, bool ps)
{
    for (int i = 0; i < plan->tasks; i++)
        if (_is_member (plan, i) && course->failed[i] && (plan->kind[i] == RULES_PS || !ps))
            return true;
    return false;
}

static bool _is_over (const struct plan *plan, const struct course *course)
{
    bool ps = _has (plan, RULES_PS), chief = _has (plan, RULES_CHIEF);

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

static bool _all_others_have_ended (const struct plan *plan, const struct course *course)
{
    for (int i = 0; i < plan->tasks; i++)
        if (plan->kind[i] != RULES_SPARE && !course->ended[i])
            return false;
    return true;
}

/*
 * guide.md, The end of a job: "Then spank-tf stops all other tasks." "In a cluster with a ps, a worker that
 * fails does not end the others"; Auxiliary tasks: "Its failure ends nothing else"; Restarts: what is
 * restarted is stopped. Nothing else is.
 */
static const char *_nothing_is_ended_without_reason (const struct history *h)
{
    struct course course = { 0 };

    EACH (note, h) {
        bool ends = (note->kind == ASKED || (note->kind == KILLED && note->number));

        _follow_course (h, &course, note);
        if (!ends || !_is_calm (h, note->at) || _is_over (h->plan, &course) || course.covered || course.hung
            || _all_others_have_ended (h->plan, &course))
            continue;
        return _broken (note, "its program is ended, and the job is not over", note->life);
    }
    return NULL;
}

/* A rank may have lost its lease, or its place. */
static bool _may_be_lost (const struct history *h, int rank, int64_t until)
{
    EACH (note, h) {
        if (note->at > until)
            break;
        if (note->kind == DISTURBED
            && (note->status == DIE || _cuts ((enum disturbance_kind)note->status)
                || (_resets ((enum disturbance_kind)note->status) && _is_lost_while_suspended (h))))
            return true;
        if (note->kind == TOLD && note->number == FACT_REPLACED && note->rank == rank)
            return true;
    }
    return false;
}

/*
 * guide.md: "To stop a task, spank-tf sends SIGTERM …, waits --tf-grace seconds …, and sends SIGKILL";
 * "in which a suspended job stands still". manual, HANGS: "SIGABRT …, and, after the time of --tf-grace,
 * SIGKILL".
 */
static const char *_a_stop_gives_its_grace (const struct history *h)
{
    const struct note *asked[MOST_RANKS] = { NULL };
    /* design.md: "looks twenty times in a grace, and no look counts for more than two of these steps". */
    int64_t grace = h->plan->config.stop_grace * 1000, steps = grace < 2000 ? 200 : grace / 10;

    EACH (note, h) {
        if (note->kind == BEGAN)
            asked[note->rank] = NULL;
        if (note->kind == ASKED && !asked[note->rank])
            asked[note->rank] = note;
        if (note->kind != KILLED || !note->number || _may_be_lost (h, note->rank, note->at)
            || _began (h, _of_slurm, note->at))
            continue;
        if (!asked[note->rank])
            return _broken (note, "a program is killed that was not asked to end", note->life);
        if (_running_ms (h, asked[note->rank]->at, note->at)
            < grace - 50 - (_began (h, _is_suspension, note->at) + 1) * steps)
            return _broken (note, "a program is killed before its grace is over", note->life);
    }
    return NULL;
}

/* Then its supervisor ends the task. */
static bool _loses_slurmstepd (const struct history *h, int rank, int64_t until)
{
    EACH (note, h)
        if (note->at <= until && note->kind == DISTURBED && note->status == KILL_SLURMSTEPD
            && note->rank == rank)
            return true;
    return false;
}

/*
 * manual, HANGS: "All processes of the tasks that hang get SIGABRT, at which Python prints the stacks": of a
 * life that was found to hang, and was not told to stop before.
 */
static const char *_what_hangs_is_aborted (const struct history *h)
{
    int hung[MOST_RANKS] = { 0 }, stopped[MOST_RANKS] = { 0 };

    EACH (note, h) {
        int life = note->life + 1;

        if (note->kind == TOLD_TO_STOP)
            stopped[note->rank] = life;
        if (note->kind == TOLD && note->number == FACT_HANG && stopped[note->rank] != life)
            hung[note->rank] = life;
        if (note->kind == ENDED || note->kind == BEGAN)
            hung[note->rank] = 0;
        if (note->kind != ASKED || hung[note->rank] != life)
            continue;
        if (note->number != SIGABRT && !_loses_slurmstepd (h, note->rank, note->at))
            return _broken (note, "hangs, and is asked to end by signal", note->number);
        hung[note->rank] = 0;
    }
    return NULL;
}

/* manual: "One whose place is taken is told to end at once, and its exit code is 0." */
static const char *_the_replaced_exit_with_0 (const struct history *h)
{
    bool replaced[MOST_RANKS] = { false };

    EACH (note, h) {
        if (note->kind == TOLD && note->number == FACT_REPLACED)
            replaced[note->rank] = true;
        /* Without a connection it does not know. */
        if (note->kind == LEFT && note->number && replaced[note->rank] && note->status
            && !_loses_slurmstepd (h, note->rank, note->at))
            return _broken (note, "is replaced, and exits with", note->status);
    }
    return NULL;
}

/* Between two questions of the kernel. */
static int64_t _interval_ms (const struct plan *plan)
{
    return plan->config.lost_after < 20 ? 1000 : 100 * plan->config.lost_after;
}

/* The moment since which a node was not reached from srun's host by then, and is not; or NEVER. */
static int64_t _unreached_since (const struct history *h, int number, int64_t now)
{
    const struct plan *plan = h->plan;
    int64_t since = NEVER, until = 0;

    EACH (note, h) {
        const struct disturbance *d = note->kind == DISTURBED ? &plan->disturbance[note->number] : NULL;

        if (!d || note->at > now || (d->kind != DIE && !_cuts (d->kind))
            || (d->target != number && d->target != plan->srun))
            continue;
        if (note->at > until)
            since = note->at;
        until = moment_last (until, d->kind == DIE ? NEVER : note->at + d->lasts);
    }
    /* Supervisors connect again so soon. */
    return until >= now - _interval_ms (plan) - 2000 - 2 * plan->delay ? since : NEVER;
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

/* So many hosts are not reached, since the same time; -1: one is reached, or was longer. */
static int _unreached_together (const struct history *h, int64_t now, int64_t *since)
{
    int64_t first = NEVER, last = 0;
    int nodes = 0;

    for (int i = 0; i < h->plan->nodes; i++) {
        int64_t moment = _unreached_since (h, i, now);

        if (!_has_supervisors (h, i, moment_first (moment, now), now))
            continue;
        if (moment == NEVER)
            return -1;
        first = moment_first (first, moment);
        last = moment_last (last, moment);
        nodes++;
    }
    *since = last;
    /* Each was heard last some time before. */
    return last <= first + 2 * _interval_ms (h->plan) + 2000 ? nodes : -1;
}

/*
 * design.md, Leases: "the tasks beside it have to end: srun's host is cut off". Only then are they killed
 * without having been asked to end.
 */
static const char *_sruns_host_ends_its_tasks_if_it_is_cut_off (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *asked[MOST_RANKS] = { NULL };

    /* Their own leases may be over then. */
    if (_is_lost_while_suspended (h))
        return NULL;
    EACH (note, h) {
        int64_t since = 0;

        if (note->kind == BEGAN)
            asked[note->rank] = NULL;
        if (note->kind == ASKED)
            asked[note->rank] = note;
        if (note->kind != KILLED || !note->number || plan->node[note->rank] != plan->srun || asked[note->rank]
            || _began (h, _of_slurm, note->at))
            continue;
        for (const struct note *told = h->note; told < note; told++)
            if (told->kind == TOLD && told->number == FACT_REPLACED && told->rank == note->rank)
                return NULL;
        if (_unreached_together (h, note->at, &since) < 2)
            return _broken (note, "is killed, and srun's host is not cut off", note->life);
        if (note->at - since < 1000 * plan->config.lost_after - _interval_ms (plan) - 50)
            return _broken (note, "is killed before the lease is over", note->life);
    }
    return NULL;
}

/* The first disturbance cuts srun's host off from two others at least. */
static const struct disturbance *_sruns_cut (const struct history *h)
{
    const struct disturbance *d = h->plan->disturbance;
    int nodes = 0;

    if (_began (h, _is_any, NEVER) == 0 || !_cuts (d->kind) || d->target != h->plan->srun)
        return NULL;
    for (int i = 0; i < h->plan->nodes; i++)
        nodes += _has_supervisors (h, i, h->note->at + d->at, NEVER);
    return nodes > 1 ? d : NULL;
}

/* The same sentence; and none begins before the others are back, or given up. */
static const char *_a_cut_off_sruns_host_runs_no_task (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct disturbance *cut = _sruns_cut (h);
    struct course course = { 0 };
    struct alive alive = { 0 };
    int64_t from, until;

    if (!cut)
        return NULL;
    from = h->note->at + cut->at + 1000 * plan->config.lost_after + 2 * _interval_ms (plan) + 1000;
    until = moment_first (h->note->at + cut->at + cut->lasts, from + 200000);
    EACH (note, h) {
        if (note->at >= until || (note->kind == DISTURBED && note->number > 0) || _is_over (plan, &course))
            return NULL;
        for (int i = 0; i < plan->tasks && note->at >= from; i++)
            if (alive.program[i] && plan->node[i] == plan->srun)
                return _broken (note, "runs beside srun, whose host is cut off", i);
        _follow (h, &alive, note);
        _follow_course (h, &course, note);
    }
    return NULL;
}

/*
 * guide.md: "if one of the cluster fails, the others … have fail_grace= seconds (30) to end and to say
 * why".
 */
static const char *_a_failure_gives_its_grace (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *first = NULL;

    if (plan->config.restart.times > 0 || _has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO
        || plan->config.watch.seconds || plan->wait)
        return NULL;
    /* What supervisors tell of a suspension may come late then. */
    if (_began (h, _is_suspension, NEVER) && _began (h, _breaks, NEVER))
        return NULL;
    EACH (note, h) {
        if (!_is_calm (h, note->at))
            return NULL;
        if (note->kind == ENDED && note->status != 0 && note->cause == BY_ITSELF
            && _is_member (plan, note->place) && !first)
            first = note;
        if (note->kind == ASKED && first && _is_member (plan, note->rank)
            && _running_ms (h, first->at, note->at)
                   < plan->config.fail_grace * 1000 - 50
                         - 2 * plan->delay * _began (h, _is_suspension, NEVER))
            return _broken (note, "is stopped before fail_grace is over", first->rank);
    }
    return NULL;
}

/*
 * guide.md, Restarts: "With --tf-restart=N a task that fails is restarted". Where nothing else happens, each
 * failure that the rule covers is followed by another life, as long as there are restarts.
 */
static const char *_a_covered_failure_is_followed_by_a_life (const struct history *h)
{
    const struct plan *plan = h->plan;
    int64_t began[MOST_RANKS] = { 0 };
    int failures = 0;

    if (_has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO || plan->wait
        || plan->config.watch.seconds)
        return NULL;
    EACH (note, h) {
        if (note->kind == DISTURBED && note->status != KILL_PROGRAM && !_is_harmless (h, note->number))
            return NULL;
        /* manual: "If a task fails while its connection … is broken, …; after a minute without one it has
         * ended." */
        if (note->kind == DISTURBED && plan->disturbance[note->number].lasts > 50000)
            return NULL;
        /* One that is final ends the job; one of these uses restarts of its own. */
        if (note->kind == ENDED && note->status != 0
            && (!_is_covered (plan, note->status) || !_is_member (plan, note->place)))
            return NULL;
        failures += note->kind == ENDED && note->status != 0 && note->cause != BY_SUPERVISOR;
    }
    if (failures > plan->config.restart.times)
        return NULL;
    EACH (note, h) {
        bool followed = false;

        if (note->kind == BEGAN && note->place >= 0)
            began[note->place] = note->at;
        if (note->kind != ENDED || note->status == 0 || note->cause == BY_SUPERVISOR)
            continue;
        for (const struct note *later = note; later < h->note + h->notes; later++)
            followed =
                followed || (later->kind == BEGAN && later->place == note->place && later->life > note->life);
        /* guide.md: with `any`, "all tasks fail alike within 30 s of their start". */
        if (!followed && plan->config.restart.any && note->life > 0
            && _running_ms (h, began[note->place], note->at) < 31000)
            return NULL;
        if (!followed)
            return _broken (note, "a covered failure is not followed by a life", note->life);
    }
    return NULL;
}

/* guide.md: "srun prints … how it ended"; "The table … the exit code is that of the last runs." */
static const char *_the_table_is_the_exit_codes (const struct history *h)
{
    const struct note *table[MOST_RANKS] = { NULL };

    EACH (note, h)
        if (note->kind == TABLE && note->number == 0)
            table[note->rank] = note;
    /*
     * Open: of a task whose fork server, or slurmstepd, is killed as its next life is ordered, which the
     * rendezvous cannot tell from one whose next life was stopped.
     */
    EACH (note, h)
        if (note->kind == DISTURBED && (note->status == KILL_FORK_SERVER || note->status == KILL_SLURMSTEPD))
            table[note->rank] = NULL;
    if (_began (h, _of_slurm, NEVER))
        return NULL;
    EACH (note, h) {
        int left, told;

        /* manual: "after a minute without one it has ended", of which the rendezvous does not learn. */
        if (note->kind != LEFT || note->number == 0 || !table[note->rank])
            continue;
        left = _code (note->status);
        told = _code (table[note->rank]->status);
        if (left > told || (left == 0 && told > 0))
            return _broken (note, "leaves with another code than the table has", told);
    }
    return NULL;
}

/*
 * guide.md: "Without a ps it returns the code of the task that failed first"; else "the chief's code, unless
 * another task failed by itself with a higher one"; "A stopped task counts as exit 0". Of an undisturbed
 * step.
 */
static const char *_sruns_code (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *last[MOST_RANKS] = { NULL }, *srun = NULL;
    int64_t first = NEVER;
    int most = 0, least = 255, others = 0;

    if (_began (h, _is_any, NEVER) > _began (h, _is_suspension, NEVER) || plan->wait
        || plan->config.watch.seconds)
        return NULL;
    EACH (note, h) {
        if (note->kind == ENDED && note->place >= 0)
            last[note->place] = note;
        if (note->kind == SRUN_ENDED)
            srun = note;
    }
    if (!srun)
        return NULL;
    for (int i = 0; i < plan->tasks; i++)
        if (last[i] && last[i]->cause == BY_ITSELF && last[i]->status && _is_member (plan, i)
            && last[i]->at < first)
            first = last[i]->at;
    for (int i = 0; i < plan->tasks; i++) {
        int code = last[i] && last[i]->cause == BY_ITSELF ? _code (last[i]->status) : 0;

        if (code && _is_member (plan, i) && last[i]->at <= first + plan->delay + 50) {
            most = code > most ? code : most;
            /* One that waits for its next life when the work is done counts as stopped. */
            least = _is_covered (plan, last[i]->status) ? 0 : code < least ? code : least;
        } else if (code
                   && (!_is_member (plan, i) || _has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO))
            others = code > others ? code : others;
    }
    least = least == 255 ? 0 : least;
    if ((_has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO) && plan->config.restart.times == 0)
        least = most;
    /* Auxiliary tasks: "srun … returns its exit code if no other is higher"; the others' is that of the
     * first. */
    if (plan->config.restart.times == 0
        && (_has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO || most == 0))
        least = least > others ? least : others;
    if (srun->number <= (most > others ? most : others) && srun->number >= least)
        return NULL;
    return _broken (srun, "srun's exit code; expected", most > others ? most : others);
}

/* The policy waits for its end (manual, THE END OF A JOB). */
static bool _is_waited_for (const struct plan *plan, int place)
{
    bool ps = _has (plan, RULES_PS), chief = _has (plan, RULES_CHIEF), works;

    works = plan->kind[place] == RULES_CHIEF || plan->kind[place] == RULES_WORKER;
    if (plan->config.stop == STOP_WHEN_CHIEF || (plan->config.stop == STOP_WHEN_AUTO && ps && chief))
        return chief ? plan->kind[place] == RULES_CHIEF
                     : works && (place == 0 || plan->kind[place - 1] != RULES_WORKER);
    return works && !plan->beside[place];
}

/*
 * guide.md, The end of a job: "srun returns 0 only if the work is done": what the job waits for has ended by
 * itself, with 0. "after a node failure srun returns 0 with Slurm 22.05".
 */
static const char *_no_success_without_the_work (const struct history *h)
{
    const struct note *last[MOST_RANKS] = { NULL }, *srun = NULL;

    if (h->plan->config.stop == STOP_WHEN_NEVER || h->plan->wait || _began (h, _of_slurm, NEVER))
        return NULL;
    EACH (note, h) {
        if (note->kind == UNHEARD
            || (note->kind == DISTURBED && (note->status == DIE || note->status == KILL_SLURMSTEPD)))
            return NULL;
        if ((note->kind == BEGAN || note->kind == ENDED) && note->place >= 0)
            last[note->place] = note;
        if (note->kind == SRUN_ENDED)
            srun = note;
    }
    for (int place = 0; srun && srun->number == 0 && place < h->plan->tasks; place++)
        if (_is_waited_for (h->plan, place)
            && (!last[place] || last[place]->kind != ENDED || last[place]->status
                || last[place]->cause == BY_SUPERVISOR))
            return _broken (srun, "srun returns 0, and the work was not done by", place);
    return NULL;
}

/* guide.md: "the last line names the one that did so first". */
static const char *_the_first_failure_is_the_first (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *named = NULL, *last[MOST_RANKS] = { NULL };
    int64_t first = NEVER;
    int who = -1;

    if (_began (h, _is_any, NEVER) || plan->config.watch.seconds)
        return NULL;
    EACH (note, h) {
        if (note->kind == ENDED && note->place >= 0)
            last[note->rank] = note;
        if (note->kind == BEGAN)
            last[note->rank] = NULL;
        if (note->kind == FIRST)
            named = note;
    }
    for (int i = 0; i < plan->tasks; i++)
        /* One that waits for its next life when the work is done counts as stopped. */
        if (last[i] && last[i]->cause == BY_ITSELF && last[i]->status && last[i]->at < first
            && _is_member (plan, last[i]->place) && !_is_covered (plan, last[i]->status)) {
            first = last[i]->at;
            who = i;
        }
    if (!named || who < 0 || named->rank == who)
        return NULL;
    if (named->rank >= 0 && last[named->rank] && last[named->rank]->at <= first + plan->delay + 400)
        return NULL;
    return _broken (named, "is named as the first to fail; it was", who);
}

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
    return _is_member (plan, place) && plan->kind[place] != RULES_SPARE;
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

    for (int64_t now = h->note->at; now < h->ledger_at; now++) {
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

static const char *_the_ledger_is_the_truth (const struct history *h)
{
    const struct ledger *l = &h->ledger;
    const struct plan *plan = h->plan;
    int64_t total = h->ledger_at - h->note->at, tolerance;
    struct truth t = { .last = LEDGER_STARTING };

    if (!h->has_ledger)
        return NULL;
    for (int i = 0; i < LEDGER_ACCOUNTS; i++)
        if (l->ms[i] < 0)
            return "an account is less than nothing";
    if (ledger_total (l) != total)
        return "the sum is not the time of the step";
    if (_began (h, _is_any, NEVER) || !plan->config.watch.seconds || _has (plan, RULES_PS)
        || plan->config.stop != STOP_WHEN_AUTO || plan->wait || plan->delay > 20)
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
        || !_is_near (t.ms[LEDGER_WAITING], l->ms[LEDGER_WAITING], tolerance)
        || !_is_near (t.ms[LEDGER_PAUSING], l->ms[LEDGER_PAUSING] + l->ms[LEDGER_NOTICING], tolerance)) {
        snprintf (
            _room, sizeof (_room),
            "progress %d, repeated %d, starting %d, waiting %d, stood %d; the ledger has %d, %d, %d, %d, %d",
            (int)t.ms[LEDGER_PROGRESS], (int)t.ms[LEDGER_REPEATED], (int)t.ms[LEDGER_STARTING],
            (int)t.ms[LEDGER_WAITING], (int)t.ms[LEDGER_PAUSING], (int)l->ms[LEDGER_PROGRESS],
            (int)l->ms[LEDGER_REPEATED], (int)l->ms[LEDGER_STARTING], (int)l->ms[LEDGER_WAITING],
            (int)(l->ms[LEDGER_PAUSING] + l->ms[LEDGER_NOTICING]));
        return _room;
    }
    if (!_is_near (t.repeated, l->repeated_steps, (t.rounds + 1) * (2 + REPORT_MS / plan->sign_ms)))
        return "another number of steps was done twice";
    return NULL;
}

/* Has a program that runs given no sign of life for so long as none may? */
static bool _one_hangs (const struct history *h, const struct note *told)
{
    int64_t since[MOST_RANKS];

    for (int place = 0; place < MOST_RANKS; place++)
        since[place] = NEVER;
    for (const struct note *note = h->note; note < told; note++)
        if (note->kind == BEGAN && note->place >= 0) {
            int64_t hangs = h->plan->script[note->place][note->life < 2 ? note->life : 2].hangs;

            since[note->place] = hangs == NEVER ? NEVER : note->at + hangs;
        }
    for (int place = 0; place < MOST_RANKS; place++)
        if (since[place] != NEVER
            && told->at - since[place] >= 1000 * h->plan->config.watch.seconds - h->plan->sign_ms)
            return true;
    return false;
}

static const char *_what_gives_signs_does_not_hang (const struct history *h)
{
    EACH (note, h)
        if (note->kind == TOLD && note->number == FACT_HANG && !_one_hangs (h, note))
            return _broken (note, "a verdict about a step that does not hang", note->number);
    return NULL;
}

static const char *_the_clock_goes_on (const struct history *h)
{
    EACH (note, h)
        if (note->kind == STUCK)
            return _broken (note, "is due again and again", note->number);
    return NULL;
}

const char *promises_check (const struct history *history, const char **why)
{
    static const struct {
        const char *name;
        const char *(*check) (const struct history *);
    } promise[] = {
        { "the clock goes on", _the_clock_goes_on },
        { "never two in one place", _never_two_in_one_place },
        { "one dictionary", _one_dictionary },
        { "all begin together", _all_begin_together },
        { "none is left out", _none_is_left_out },
        { "at most N restarts", _at_most_n_restarts },
        { "nothing is ended without reason", _nothing_is_ended_without_reason },
        { "a stop gives its grace", _a_stop_gives_its_grace },
        { "a failure gives its grace", _a_failure_gives_its_grace },
        { "what hangs is aborted", _what_hangs_is_aborted },
        { "srun's host ends its tasks if it is cut off", _sruns_host_ends_its_tasks_if_it_is_cut_off },
        { "a cut-off srun's host runs no task", _a_cut_off_sruns_host_runs_no_task },
        { "the replaced exit with 0", _the_replaced_exit_with_0 },
        { "a covered failure is followed by a life", _a_covered_failure_is_followed_by_a_life },
        { "ends are told once", _ends_are_told_once },
        { "the table is the exit codes", _the_table_is_the_exit_codes },
        { "the first failure is the first", _the_first_failure_is_the_first },
        { "srun's exit code", _sruns_code },
        { "no success without the work", _no_success_without_the_work },
        { "none runs when srun has ended", _none_runs_when_srun_has_ended },
        { "everything ends", _everything_ends },
        { "the ledger is the truth", _the_ledger_is_the_truth },
        { "what gives signs does not hang", _what_gives_signs_does_not_hang },
    };

    for (size_t i = 0; i < COUNT (promise); i++)
        if ((*why = promise[i].check (history)))
            return promise[i].name;
    return NULL;
}
