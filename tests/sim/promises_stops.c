/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Promises about what is ended by spank-tf: only with a reason, with its grace, and by the right signal.
 */
#include "config.h"

#include "promises.h"

#include <signal.h>
#include <stddef.h>

#include "oracle.h"

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
const char *nothing_is_ended_without_reason (const struct history *h)
{
    struct course course = { 0 };

    EACH (note, h) {
        bool ends = (note->kind == ASKED || (note->kind == KILLED && note->number));

        oracle_follow_course (h, &course, note);
        if (!ends || !oracle_is_calm (h, note->at) || oracle_is_over (h->plan, &course) || course.covered
            || course.hung || _all_others_have_ended (h->plan, &course))
            continue;
        return oracle_broken (note, "its program is ended, and the job is not over", note->life);
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
            && (note->status == DIE || oracle_cuts ((enum disturbance_kind)note->status)
                || (oracle_resets ((enum disturbance_kind)note->status)
                    && oracle_is_lost_while_suspended (h))))
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
const char *a_stop_gives_its_grace (const struct history *h)
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
            || oracle_began (h, oracle_of_slurm, note->at))
            continue;
        if (!asked[note->rank])
            return oracle_broken (note, "a program is killed that was not asked to end", note->life);
        if (oracle_running_ms (h, asked[note->rank]->at, note->at)
            < grace - 50 - (oracle_began (h, oracle_is_suspension, note->at) + 1) * steps)
            return oracle_broken (note, "a program is killed before its grace is over", note->life);
    }
    return NULL;
}

/*
 * manual, HANGS: "All processes of the tasks that hang get SIGABRT, at which Python prints the stacks": of a
 * life that was found to hang, and was not told to stop before.
 */
const char *what_hangs_is_aborted (const struct history *h)
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
        if (note->number != SIGABRT && !oracle_loses_slurmstepd (h, note->rank, note->at))
            return oracle_broken (note, "hangs, and is asked to end by signal", note->number);
        hung[note->rank] = 0;
    }
    return NULL;
}

/*
 * guide.md: "if one of the cluster fails, the others … have fail_grace= seconds (30) to end and to say
 * why".
 */
const char *a_failure_gives_its_grace (const struct history *h)
{
    const struct plan *plan = h->plan;
    const struct note *first = NULL;

    if (plan->config.restart.times > 0 || oracle_has (plan, RULES_PS) || plan->config.stop != STOP_WHEN_AUTO
        || plan->config.watch.seconds || plan->wait)
        return NULL;
    /* What supervisors tell of a suspension may come late then. */
    if (oracle_began (h, oracle_is_suspension, NEVER) && oracle_began (h, oracle_breaks, NEVER))
        return NULL;
    EACH (note, h) {
        if (!oracle_is_calm (h, note->at))
            return NULL;
        if (note->kind == ENDED && note->status != 0 && note->cause == BY_ITSELF
            && oracle_is_member (plan, note->place) && !first)
            first = note;
        if (note->kind == ASKED && first && oracle_is_member (plan, note->rank)
            && oracle_running_ms (h, first->at, note->at)
                   < plan->config.fail_grace * 1000 - 50
                         - 2 * plan->delay * oracle_began (h, oracle_is_suspension, NEVER))
            return oracle_broken (note, "is stopped before fail_grace is over", first->rank);
    }
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

const char *what_gives_signs_does_not_hang (const struct history *h)
{
    EACH (note, h)
        if (note->kind == TOLD && note->number == FACT_HANG && !_one_hangs (h, note))
            return oracle_broken (note, "a verdict about a step that does not hang", note->number);
    return NULL;
}
