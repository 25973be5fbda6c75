/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Promises about the end: that it comes, what is told of it, and the codes of tasks and of srun.
 */
#include "config.h"

#include "promises.h"

#include <stddef.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "oracle.h"

/* design/overview.md, promise 5: "Every wait ends." 6: "No process … of ours outlives the step". */
const char *everything_ends (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct rendezvous_config *c = &plan->config;
    int64_t last = 100000, bound = 100 + 40 + c->stop_grace + c->eval_grace + c->fail_grace;
    bool cut = oracle_began (h, oracle_cuts, NEVER) > 0, asked = oracle_began (h, oracle_of_slurm, NEVER) > 0,
         hangs = false;
    bool ends = h->all_ended;

    for (int i = 0; i < plan->tasks; i++)
        hangs = hangs || plan->script[i][0].hangs != NEVER;
    /* guide/ending.md: "never: no task is stopped". manual, HANGS: not "that Slurm has asked to end by
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
    /* design/ending.md: "a timeout | 5 minutes"; a supervisor without an answer stays ten, one that was
       cut off an hour. */
    bound += cut || oracle_began (h, oracle_is_any, NEVER) ? 600 + 360 + 300 : 0;
    bound += cut ? 3600 : 0;
    if (ends && h->end <= last + 1000 * bound)
        return NULL;
    return oracle_tell ("%s after %.0f s", ends ? "all have ended only" : "something goes on",
                        (double)(h->end - last) / 1000);
}

/* A SIGTERM to the group is taken for Slurm's, which ends the step, and nobody waits for more. */
static bool _is_no_kill (enum disturbance_kind kind)
{
    return kind != KILL_SUPERVISOR && kind != KILL_PROGRAM;
}

/*
 * guide/ending.md: "srun's last line names the first failure": once. Also if supervisors are killed, and
 * srun ends before it is judged that they do not come back.
 */
const char *ends_are_told_once (const struct history *h)
{
    int ended = 0, over = 0;
    bool asked = h->plan->wait > 0, left = false;
    const struct note *srun = NULL;
    int64_t gone = 0;

    EACH (note, h) {
        ended += note->kind == TOLD && note->number == FACT_ENDED;
        over += note->kind == TOLD && note->number == FACT_OVER;
        if (ended > 1 || over > 1)
            return oracle_broken (note, "told twice", note->number);
        left = left || note->kind == LEFT;
        gone = note->kind == GONE ? note->at : gone;
        if (note->kind == SRUN_ENDED && !asked)
            srun = note;
        if (note == srun && ended == 0 && !oracle_began (h, oracle_is_any, note->at))
            return oracle_broken (note, "srun ends, and has not told how tasks ended", 0);
    }
    /* It prints what it knows when it ends. */
    if (srun && ended == 0 && left && !oracle_began (h, _is_no_kill, srun->at)
        && srun->at > gone + 2 * h->plan->delay + 10)
        return oracle_broken (srun, "srun has ended, and has not told how tasks ended", 0);
    return NULL;
}

/* manual: "If srun ends, Slurm ends the step"; and it does not end by itself before all tasks have. */
const char *none_runs_when_srun_has_ended (const struct history *h)
{
    struct alive alive = { 0 };
    bool cut = oracle_began (h, oracle_of_slurm, NEVER) > 0;

    EACH (note, h) {
        oracle_follow (h, &alive, note);
        if (note->kind != SRUN_ENDED || cut)
            continue;
        for (int i = 0; i < h->plan->tasks; i++)
            if (alive.program[i] && oracle_reaches (h, &alive, i))
                return oracle_broken (note, "srun ends, and a program runs", i);
    }
    return NULL;
}

/*
 * manual: "If a spare may not have heard that it has a place, and counts as ended, the tasks that are let go
 * then exit with 137". Is this task's code that one?
 */
static bool _is_owed (const struct history *h, const struct note *left)
{
    const int *place = h->place[h->generations - 1];
    bool ended[MOST_RANKS] = { false }, told[MOST_RANKS] = { false }, revived = false;
    bool reported[MOST_RANKS] = { false };

    /* Before its first life a task has done nothing. */
    for (int i = 0; i < h->plan->tasks; i++)
        ended[i] = h->plan->config.task.preflight;
    for (const struct note *note = h->note; note < left; note++)
        if (note->kind == TOLD && (note->number == FACT_LOST || note->number == FACT_DECIDED)
            && note->rank >= 0)
            ended[note->rank] = true;
        else if (note->kind == BEGAN)
            ended[note->rank] = reported[note->rank] = false;
        else if (note->kind == LEFT && note->number && note->at + 2 * h->plan->delay < left->at)
            told[note->rank] = true;
        else if (note->kind == TOLD && note->number == FACT_REPORTED)
            reported[note->rank] = true;
        else if (note->kind == DISTURBED && note->status == KILL_RENDEZVOUS)
            revived = true;
    /* Another rendezvous does not know what was sent. */
    for (int i = 0; i < h->plan->tasks; i++)
        if (place[i] >= 0 && (revived ? ended[i] || reported[i] : ended[i] && !told[i]))
            return true;
    return false;
}

/* manual: "One whose place is taken is told to end at once, and its exit code is 0." */
const char *the_replaced_exit_with_0 (const struct history *h)
{
    bool replaced[MOST_RANKS] = { false };

    EACH (note, h) {
        if (note->kind == TOLD && note->number == FACT_REPLACED)
            replaced[note->rank] = true;
        /* Without a connection it does not know. */
        if (note->kind == LEFT && note->number && replaced[note->rank] && note->status && !_is_owed (h, note)
            && !oracle_loses_slurmstepd (h, note->rank, note->at))
            return oracle_broken (note, "is replaced, and exits with", note->status);
    }
    return NULL;
}

/* guide/restarts.md: "The table at the end … The exit code is the last run's." */
const char *the_table_is_the_exit_codes (const struct history *h)
{
    const struct note *table[MOST_RANKS] = { NULL };

    EACH (note, h)
        if (note->kind == TABLE && note->number == 0)
            table[note->rank] = note;
    EACH (note, h) {
        int left, told;

        /* manual: "after a minute without one it has ended", of which the rendezvous does not learn. */
        if (note->kind != LEFT || note->number == 0 || !table[note->rank])
            continue;
        left = oracle_code (note->status);
        told = oracle_code (table[note->rank]->status);
        if ((left > told && !_is_owed (h, note)) || (left == 0 && told > 0))
            return oracle_broken (note, "leaves with another code than the table has", told);
    }
    return NULL;
}

/*
 * guide/ending.md: "Without a ps, srun returns the code of the task that failed first"; "With a chief, …
 * the chief's code, unless another task failed by itself with a higher one"; "A stopped task counts as
 * exit code 0". Of an undisturbed step.
 */
const char *sruns_code (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *last[MOST_RANKS] = { NULL }, *srun = NULL;
    int64_t first = NEVER;
    int most = 0, least = 255, others = 0;

    if (oracle_began (h, oracle_is_any, NEVER) > oracle_began (h, oracle_is_suspension, NEVER) || plan->wait
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
    if (oracle_is_refused (h))
        return srun->number == EXIT_REPORT_REFUSED_CODE
                   ? NULL
                   : oracle_broken (srun, "was refused, with code", srun->number);
    for (int i = 0; i < plan->tasks; i++)
        if (last[i] && last[i]->cause == BY_ITSELF && last[i]->status && oracle_is_member (plan, i)
            && last[i]->at < first)
            first = last[i]->at;
    for (int i = 0; i < plan->tasks; i++) {
        int code = last[i] && last[i]->cause == BY_ITSELF ? oracle_code (last[i]->status) : 0;

        if (code && oracle_is_member (plan, i) && last[i]->at <= first + plan->delay + plan->tee + 50) {
            most = code > most ? code : most;
            /* One that waits for its next life when the work is done counts as stopped. */
            least = oracle_covers (plan, last[i]->status) ? 0 : code < least ? code : least;
        } else if (code
                   && (!oracle_is_member (plan, i) || oracle_has (plan, RULES_PS)
                       || plan->config.stop != STOP_WHEN_AUTO))
            others = code > others ? code : others;
    }
    least = least == 255 ? 0 : least;
    if ((oracle_has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO)
        && plan->config.restart.times == 0)
        least = most;
    /* Auxiliary tasks: "srun … returns its exit code if no other is higher"; the others' is that of the
     * first. */
    if (plan->config.restart.times == 0
        && (oracle_has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO || most == 0))
        least = least > others ? least : others;
    if (srun->number <= (most > others ? most : others) && srun->number >= least)
        return NULL;
    return oracle_broken (srun, "srun's exit code; expected", most > others ? most : others);
}

/* The policy waits for its end (manual, THE END OF A JOB). */
static bool _is_waited_for (const struct plan *plan, int place)
{
    bool ps = oracle_has (plan, RULES_PS), chief = oracle_has (plan, RULES_CHIEF), works;

    works = plan->kind[place] == RULES_CHIEF || plan->kind[place] == RULES_WORKER;
    if (plan->config.stop == STOP_WHEN_CHIEF || (plan->config.stop == STOP_WHEN_AUTO && ps && chief))
        return chief ? plan->kind[place] == RULES_CHIEF
                     : works && (place == 0 || plan->kind[place - 1] != RULES_WORKER);
    return works && !plan->beside[place];
}

/*
 * guide/ending.md: "If training has not finished, srun does not return 0": what the job waits for has
 * ended by itself, with 0. "After a node failure srun returns 0 with Slurm 22.05".
 */
const char *no_success_without_the_work (const struct history *h)
{
    const struct note *last[MOST_RANKS] = { NULL }, *srun = NULL;

    if (h->plan->config.stop == STOP_WHEN_NEVER || h->plan->wait || oracle_began (h, oracle_of_slurm, NEVER))
        return NULL;
    EACH (note, h) {
        if (note->kind == UNHEARD || (note->kind == DISTURBED && note->status == DIE))
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
            return oracle_broken (srun, "srun returns 0, and the work was not done by", place);
    return NULL;
}

/* guide/ending.md: "srun's last line names the first failure". */
const char *the_first_failure_is_the_first (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *named = NULL, *last[MOST_RANKS] = { NULL };
    int64_t first = NEVER, hung = NEVER;
    int who = -1;

    /* A connection that was reset changes nothing: what has ended meanwhile says since when. */
    if (oracle_began (h, oracle_is_any, NEVER) > oracle_began (h, oracle_resets, NEVER) || plan->wait)
        return NULL;
    EACH (note, h) {
        if (note->kind == ENDED && note->place >= 0)
            last[note->rank] = note;
        if (note->kind == BEGAN)
            last[note->rank] = NULL;
        if (note->kind == FIRST)
            named = note;
        if (note->kind == TOLD && note->number == FACT_HANG)
            hung = moment_first (hung, note->at - plan->config.watch.seconds * 1000);
    }
    for (int i = 0; i < plan->tasks; i++)
        /* One that waits for its next life when the work is done counts as stopped. */
        if (last[i] && last[i]->cause == BY_ITSELF && last[i]->status && last[i]->at < first
            && oracle_is_member (plan, last[i]->place) && !oracle_covers (plan, last[i]->status)) {
            first = last[i]->at;
            who = i;
        }
    /* A hung task has failed when it fell silent. What fails later may have failed because of that. */
    if (!named || who < 0 || named->rank == who || first > hung)
        return NULL;
    if (named->rank >= 0 && last[named->rank] && last[named->rank]->at <= first + plan->delay + 400)
        return NULL;
    return oracle_broken (named, "is named as the first to fail; it was", who);
}

const char *the_clock_goes_on (const struct history *h)
{
    EACH (note, h)
        if (note->kind == STUCK)
            return oracle_broken (note, "is due again and again", note->number);
    return NULL;
}

/*
 * manual, RESTARTS: "With srun --wait …, Slurm learns at once of a task that ended with 0". Of a step to
 * which nothing else happens, and in which no task has failed.
 */
const char *slurm_learns_of_a_success_at_once (const struct history *h)
{
    const struct note *ended[MOST_RANKS] = { NULL };

    if (!h->plan->wait || oracle_began (h, oracle_is_any, NEVER))
        return NULL;
    EACH (note, h) {
        if (note->kind == SRUN_ENDED || (note->kind == ENDED && note->status != 0))
            return NULL;
        for (int i = 0; i < h->plan->tasks; i++)
            if (ended[i] && note->at > ended[i]->at + h->plan->tee + 4 * h->plan->delay + 100)
                return oracle_broken (ended[i], "ends with 0, and Slurm does not learn of it", note->life);
        if (note->kind == LEFT || note->kind == GONE)
            ended[note->rank] = NULL;
        if (note->kind == ENDED && note->status == 0 && note->cause == BY_ITSELF)
            ended[note->rank] = note;
    }
    return NULL;
}

/*
 * guide/ending.md: "srun -K makes any failure end the step. srun may then return 143, the code of the
 * tasks that Slurm ends." So a task that Slurm has asked to end, and spank-tf has not, keeps its code.
 */
const char *what_slurm_ends_keeps_its_code (const struct history *h)
{
    const struct note *ended[MOST_RANKS] = { NULL };
    int asked[MOST_RANKS] = { 0 }; /* in this life, from 1: it may hear of its begin and its stop at once */
    int64_t sigterm = NEVER;
    int hung = -1; /* was found to hang, before it may have heard of that */

    if (oracle_began (h, oracle_breaks, NEVER))
        return NULL;
    EACH (note, h) {
        if (oracle_is_sigterm (h, note))
            sigterm = note->at;
        if (note->kind == TOLD && note->number == FACT_HANG)
            hung = note->rank;
        if (note->kind == BEGAN || note->kind == ENDED)
            ended[note->rank] = note->kind == ENDED ? note : NULL;
        if (note->kind == ASKED || note->kind == KILLED || note->kind == TOLD_TO_STOP)
            asked[note->rank] = note->life + 1;
        if (note->kind != LEFT || !ended[note->rank] || asked[note->rank] == ended[note->rank]->life + 1
            || note->rank == hung || ended[note->rank]->cause != BY_SLURM
            || ended[note->rank]->at - h->plan->skew < sigterm
            || oracle_loses_slurmstepd (h, note->rank, note->at) || _is_owed (h, note)
            || (h->plan->forwards && oracle_serves (h->plan, ended[note->rank]->place)))
            continue;
        if (oracle_code (note->status) != oracle_code (ended[note->rank]->status))
            return oracle_broken (note, "was ended by Slurm, and leaves with another code; its status was",
                                  ended[note->rank]->status);
    }
    return NULL;
}

/* Who is lost, and who is not: the table of ends, and the time after which it is told. */

/*
 * design/ending.md: "If a supervisor's connection ends without a report, a timer starts. If the supervisor
 * has not reconnected in time, srun prints which task counts as ended: … a close | 10 s …, a reset | 1
 * minute". Of supervisors that are killed in a step without spares, to which nothing else happens.
 */
const char *the_lost_are_told_in_time (const struct history *h)
{
    const struct note *gone[MOST_RANKS] = { NULL };
    struct alive alive = { 0 };

    if (oracle_has_spares (h->plan))
        return NULL;
    EACH (note, h) {
        if (note->kind == DISTURBED && note->status != KILL_SUPERVISOR && note->status != KILL_PROGRAM)
            return NULL;
        for (int i = 0; i < h->plan->tasks; i++)
            if (gone[i] && note->at > gone[i]->at + 60000 + 2 * h->plan->delay + 100)
                return oracle_broken (gone[i], "is gone, and nobody is told", i);
        /* GONE comes before the end of its program. */
        if (note->kind == GONE && alive.program[note->rank])
            gone[note->rank] = note;
        if (note->kind == TOLD && note->number == FACT_LOST && note->rank >= 0)
            gone[note->rank] = NULL;
        oracle_follow (h, &alive, note);
    }
    return NULL;
}

/*
 * guide/troubleshooting.md: "0 | Training finished. Tasks that spank-tf stopped count as 0". So does one
 * that has failed, and was to be restarted, when the work is done before. Of a step to which nothing else
 * happens.
 */
const char *what_waits_for_its_next_life_counts_as_stopped (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *last[MOST_RANKS] = { NULL }, *srun = NULL;
    bool announced[MOST_RANKS] = { false };

    if (plan->config.stop == STOP_WHEN_NEVER || plan->wait || plan->config.watch.seconds
        || oracle_began (h, oracle_is_any, NEVER))
        return NULL;
    EACH (note, h) {
        if ((note->kind == BEGAN || note->kind == ENDED) && note->place >= 0) {
            last[note->place] = note;
            announced[note->place] = false;
        }
        if (note->kind == TOLD && note->number == FACT_DECIDED && note->rank >= 0 && last[note->rank]
            && (note->status == DECISION_ONE || note->status == DECISION_ALL))
            announced[note->rank] = true;
        if (note->kind == SRUN_ENDED)
            srun = note;
    }
    for (int place = 0; place < plan->tasks; place++) {
        bool waits = announced[place] && oracle_is_member (plan, place) && !_is_waited_for (plan, place);

        if (last[place]
            && (last[place]->kind != ENDED
                || (last[place]->status && last[place]->cause == BY_ITSELF && !waits)))
            return NULL;
        if (_is_waited_for (plan, place) && (!last[place] || last[place]->status))
            return NULL;
    }
    return srun && srun->number ? oracle_broken (srun, "the work is done, and srun returns", srun->number)
                                : NULL;
}
