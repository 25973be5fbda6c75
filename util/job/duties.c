/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "duties.h"

#include <stddef.h>

#include "place.h"

/* What the whole list says. */
struct list {
    const struct place *chief;          /* or the master, or worker 0; or NULL */
    bool ps, has_chief;
    int members, awaited;               /* 0 members: only evaluators */
};

static bool _is_chief (const struct place *p)
{
    return p->kind == RULES_CHIEF || p->kind == RULES_MASTER;
}

static const struct place *_first (const struct job *job, enum rules_name kind)
{
    EACH_PLACE (p, job)
        if (p->kind == kind)
            return p;
    return NULL;
}

static struct list _list (const struct job *job)
{
    const struct place *chief = _first (job, RULES_CHIEF);
    struct list list = { .ps = _first (job, RULES_PS) };

    chief = chief ? chief : _first (job, RULES_MASTER);
    list.chief = chief ? chief : _first (job, RULES_WORKER);
    list.has_chief = chief;
    EACH_PLACE (p, job)
        list.members += !place_is_apart (p);
    return list;
}

static enum finish_cause _aim (const struct job *job, const struct list *list)
{
    switch (job->config->stop) {
        case STOP_WHEN_CHIEF: return FINISH_CHIEF;
        case STOP_WHEN_WORKERS: return FINISH_WORKERS;
        case STOP_WHEN_NEVER: return FINISH_NOT;
        case STOP_WHEN_AUTO: break;
    }
    if (!list->ps)
        return FINISH_OTHERS;
    return list->has_chief ? FINISH_CHIEF : FINISH_WORKERS;
}

static bool _awaits (const struct job *job, const struct list *list, const struct place *p)
{
    switch (job->aim) {
        case FINISH_CHIEF: return p == list->chief;
        case FINISH_WORKERS: return p->duty.works;
        case FINISH_OTHERS: return !p->beside && (p->kind != RULES_EVALUATOR || list->members == 0);
        default: return false;
    }
}

static bool _is_fatal (const struct job *job, const struct list *list, const struct place *p)
{
    if (job->config->stop != STOP_WHEN_AUTO)
        return false;
    return p->kind == RULES_PS || (!list->ps && p->duty.awaited && list->members > 0);
}

static bool _only_serves (const struct list *list, const struct place *p)
{
    if (list->awaited == 0 || p->duty.awaited)
        return false;
    return p->beside || p->kind == RULES_PS || (p->kind == RULES_WORKER && list->ps && list->has_chief);
}

void duties_set (struct job *job)
{
    struct list list = _list (job);

    job->aim = _aim (job, &list);
    EACH_PLACE (p, job) {
        struct duty *d = &p->duty;
        bool leads = p->kind == RULES_PS || _is_chief (p);

        d->works = _is_chief (p) || p->kind == RULES_WORKER;
        d->member = list.members > 1 && !place_is_apart (p);
        d->alone = !d->member || (list.ps && !leads);
        d->awaited = _awaits (job, &list, p);
        d->fatal = _is_fatal (job, &list, p);
        d->graced = job->config->stop == STOP_WHEN_AUTO && !p->beside
                    && (p->kind == RULES_EVALUATOR || p->kind == RULES_ROLES);
        list.awaited += d->awaited;
    }
    EACH_PLACE (p, job)
        p->duty.serves = _only_serves (&list, p);
}

bool duties_need_supervisors (const struct job *job)
{
    int awaited = 0;

    if (job->config->stop == STOP_WHEN_AUTO && _first (job, RULES_PS))
        return job->tasks > 1;
    EACH_PLACE (p, job)
        awaited += p->duty.awaited;
    return awaited > 0 && awaited < job->tasks;
}
