/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "pace.h"

#include <limits.h>

static const struct pace_sample *_sample (const struct pace *pace, int i)
{
    return &pace->sample[(pace->first + i) % PACE_SAMPLES];
}

static const struct pace_sample *_last (const struct pace *pace)
{
    return _sample (pace, pace->count - 1);
}

static void _add_sample (struct pace *pace, int64_t run, int step)
{
    if (pace->count == PACE_SAMPLES) {
        pace->first = (pace->first + 1) % PACE_SAMPLES;
        pace->count--;
    }
    pace->sample[(pace->first + pace->count++) % PACE_SAMPLES] = (struct pace_sample){ run, step };
}

/* Half of them go when there is no room. */
static void _add_to_all (struct pace *pace, int64_t run, int step)
{
    int count = 0;

    if (pace->all_each == 0)
        pace->all_each = PACE_EACH_MS;
    if (pace->all_count > 0 && run - pace->all[pace->all_count - 1].at < pace->all_each)
        return;
    if (pace->all_count == PACE_ALL) {
        for (int i = 0; i < PACE_ALL; i += 2)
            pace->all[count++] = pace->all[i];
        pace->all_count = count;
        pace->all_each *= 2;
    }
    pace->all[pace->all_count++] = (struct pace_sample){ run, step };
}

void pace_note (struct pace *pace, int64_t run, int step)
{
    if (pace->count > 0 && step < _last (pace)->step)
        *pace = (struct pace){ .count = 0 };
    if (step == 0 || (pace->count > 0 && step == _last (pace)->step))
        return;
    /* The last one moves on until it is far enough from the one before. */
    if (pace->count > 1 && _last (pace)->at - _sample (pace, pace->count - 2)->at < PACE_EACH_MS)
        pace->count--;
    _add_sample (pace, run, step);
    _add_to_all (pace, run, step);
}

/* The last sample; later, when no step has come for longer than this. */
static struct pace_sample _end (const struct pace *pace, int64_t gap, int64_t run)
{
    struct pace_sample end = *_last (pace);

    if (run - end.at > gap)
        end.at = run - gap;
    return end;
}

/* The longest time without a step, of the last minutes or of all. */
static int64_t _gap (const struct pace *pace, int from)
{
    int64_t gap = 0;

    for (int i = from + 1; i < pace->count; i++)
        if (_sample (pace, i)->at - _sample (pace, i - 1)->at > gap)
            gap = _sample (pace, i)->at - _sample (pace, i - 1)->at;
    return gap;
}

static int64_t _gap_of_all (const struct pace *pace)
{
    int64_t gap = _gap (pace, 0);

    for (int i = 1; i < pace->all_count; i++)
        if (pace->all[i].at - pace->all[i - 1].at > gap)
            gap = pace->all[i].at - pace->all[i - 1].at;
    return gap;
}

static int _rate (const struct pace_sample *from, const struct pace_sample *to)
{
    int64_t ms = to->at - from->at, rate = ms > 0 ? ((int64_t)to->step - from->step) * 1000000 / ms : 0;

    return rate < INT_MAX ? (int)rate : INT_MAX;
}

/* The first sample that counts; one from before says how far the work was then. */
static int _recent (const struct pace *pace, int64_t run)
{
    int from = 0;

    while (from < pace->count && run - _sample (pace, from)->at > PACE_SPAN_MS)
        from++;
    return from - (from > 0);
}

int pace_rate (const struct pace *pace, int64_t run, int *seconds)
{
    int from = _recent (pace, run);
    struct pace_sample end;

    *seconds = 0;
    if (pace->count - from < 2)
        return 0;
    end = _end (pace, _gap (pace, from), run);
    if (end.at <= _sample (pace, from)->at)
        return 0;
    *seconds = (int)((end.at - _sample (pace, from)->at + 500) / 1000);
    return _rate (_sample (pace, from), &end);
}

/* Where steps are farthest ahead of a straight line from this sample to the end, they become slower. */
static int _bend (const struct pace *pace, int from, const struct pace_sample *end)
{
    const struct pace_sample *first = &pace->all[from];
    double slope = (double)(end->step - first->step) / (double)(end->at - first->at), most = 0;
    int bend = from;

    for (int i = from + 1; i < pace->all_count; i++) {
        const struct pace_sample *s = &pace->all[i];
        double ahead = s->step - first->step - slope * (double)(s->at - first->at);

        if (ahead > most) {
            most = ahead;
            bend = i;
        }
    }
    return bend;
}

/* Since when it is slower than before. Not where there was a pause, after which it was as fast again. */
static const struct pace_sample *_slower_since (const struct pace *pace, const struct pace_sample *end,
                                                int *before)
{
    int bend = _bend (pace, 0, end), next;

    for (;;) {
        *before = _rate (&pace->all[0], &pace->all[bend]);
        next = _bend (pace, bend, end);
        if (next == bend || (int64_t)_rate (&pace->all[bend], &pace->all[next]) * 5 < (int64_t)*before * 4)
            return &pace->all[bend];
        bend = next;
    }
}

int pace_before (const struct pace *pace, int64_t run, int *seconds)
{
    const struct pace_sample *since;
    struct pace_sample end;
    int before;

    *seconds = 0;
    if (pace->all_count < 2)
        return 0;
    end = _end (pace, _gap_of_all (pace), run);
    since = _slower_since (pace, &end, &before);
    if (since->at - pace->all[0].at < PACE_SLOWER_MS || end.at - since->at < PACE_SLOWER_MS)
        return 0;
    /* It still is. */
    if ((int64_t)_rate (since, &end) * 5 >= (int64_t)before * 4
        || (int64_t)_rate (_sample (pace, _recent (pace, run)), &end) * 5 >= (int64_t)before * 4)
        return 0;
    *seconds = (int)((run - since->at + 500) / 1000);
    return before;
}
