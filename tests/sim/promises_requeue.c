/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Promises: a job that goes on in another run (--tf-requeue).
 */
#include "config.h"

#include <signal.h>

#include "oracle.h"
#include "promises.h"

/* What a supervisor takes to report an end. */
#define NEAR_MS 5000

/* The tasks are asked once, then no life is decided on, and the job is requeued once, when all have ended. */
const char *tasks_are_asked_to_save_once (const struct history *h)
{
    int saves = 0, ended = 0, requeues = 0;

    EACH (note, h) {
        if (note->kind != TOLD)
            continue;
        saves += note->number == FACT_SAVE;
        ended += note->number == FACT_ENDED;
        requeues += note->number == FACT_REQUEUE;
        if (saves > 1)
            return oracle_broken (note, "the tasks are asked to save again", 0);
        if (saves > 0 && note->number == FACT_BEGINS)
            return oracle_broken (note, "a life begins, and the tasks have been asked to save", 0);
        if (note->number == FACT_REQUEUE
            && (requeues > 1 || ended == 0 || (saves == 0 && note->status != REQUEUE_ASKED)))
            return oracle_broken (note, "the job is requeued, or not, out of turn", note->status);
    }
    return NULL;
}

/* The same page: "A task that waits for a restart continues in the next run." */
static bool _is_stopped (const struct history *h, const struct note *end)
{
    for (const struct note *note = h->note; note < end; note++)
        if (note->kind == TOLD_TO_STOP && note->rank == end->rank && note->life == end->life)
            return true;
    return end->cause == BY_SUPERVISOR || oracle_loses_slurmstepd (h, end->rank, end->at);
}

/* Its end ends the chain, if it was asked to save, and was not stopped. */
static bool _fails (const struct history *h, const struct note *note)
{
    const struct plan *plan = h->plan;
    int code = oracle_code (note->status);

    if (note->place < 0 || !oracle_is_member (plan, note->place))
        return false;
    if (plan->kind[note->place] == RULES_PS)
        return note->status != 0 && note->cause != BY_SLURM;
    return !oracle_serves (plan, note->place) && code != 0 && code != 42 && code != 128 + SIGTERM;
}

/* The others have saved when a ps fails, or are about to: what srun was told first decides. */
static bool _may_be_over (const struct history *h, const struct note *end)
{
    const struct note *over = oracle_told (h, FACT_OVER);

    if (h->plan->kind[end->place] != RULES_PS || !over)
        return false;
    for (const struct note *note = end; note < over; note++)
        if (note->kind == TOLD && note->rank == end->rank
            && (note->number == FACT_REPORTED || note->number == FACT_LOST))
            return false;
    return true;
}

/*
 * guide/longer-than-the-limit.md: "The job is requeued if each task that it waits for exited with 0, 42 or
 * 143, or was ended by SIGTERM."
 */
const char *a_job_goes_on_only_if_it_has_saved (const struct history *h)
{
    const struct note *save = oracle_told (h, FACT_SAVE), *requeue = oracle_told (h, FACT_REQUEUE);
    const struct note *over = oracle_told (h, FACT_OVER), *unsaved = NULL;
    const struct plan *plan = h->plan;
    bool near = false, lost[MOST_RANKS] = { false };

    if (!save || !requeue || plan->config.stop != STOP_WHEN_AUTO)
        return NULL;
    EACH (note, h) {
        if (note->kind == TOLD && (note->number == FACT_LOST || note->number == FACT_REPLACED))
            lost[note->rank] = lost[note->rank] || note <= requeue;
        if (note->kind != ENDED || !_fails (h, note))
            continue;
        unsaved = note->at > save->at && !_may_be_over (h, note) && !_is_stopped (h, note) ? note : unsaved;
        /* Its report may have come later, as that of a ps whose failure ended the job; its stop, too. */
        near = near || note->at > save->at - NEAR_MS - 2 * plan->delay
               || (plan->kind[note->place] == RULES_PS && over && over->status == FINISH_PS_FAILED);
    }
    /* What is lost has no place any longer, or is not waited for, nor is what was cut off before. */
    if (unsaved && requeue->status == REQUEUE_GOES_ON && !lost[unsaved->rank]
        && !oracle_began (h, oracle_breaks, save->at))
        return oracle_broken (unsaved, "the job goes on, and this task has not saved", unsaved->status);
    if (!near && requeue->status == REQUEUE_FAILED && oracle_began (h, oracle_is_any, requeue->at) <= 1)
        return oracle_broken (requeue, "the job does not go on, and all have saved", 0);
    return NULL;
}

/* The same page: "A ps and auxiliary tasks serve them until they have exited." */
const char *what_serves_is_not_asked_to_save (const struct history *h)
{
    const struct note *save = oracle_told (h, FACT_SAVE);

    if (!save || oracle_began (h, oracle_of_slurm, save->at - 1) > 0)
        return NULL;
    EACH (note, h) {
        if (note->at < save->at)
            continue;
        /* Slurm's own SIGTERM is another one. */
        if (note->kind == DISTURBED && note->status != LIMIT)
            return NULL;
        if (note->kind == ENDED && note->place >= 0 && oracle_serves (h->plan, note->place)
            && note->cause == BY_SLURM)
            return oracle_broken (note, "it serves, and was asked to save", note->status);
    }
    return NULL;
}
