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

void pace_note (struct pace *pace, int64_t run, int step)
{
    if (pace->count > 0 && step < _last (pace)->step)
        pace->count = 0;
    if (step == 0 || (pace->count > 0 && step == _last (pace)->step))
        return;
    /* The last one moves on until it is far enough from the one before. */
    if (pace->count > 1 && _last (pace)->at - _sample (pace, pace->count - 2)->at < PACE_EACH_MS)
        pace->count--;
    _add_sample (pace, run, step);
}

int pace_rate (const struct pace *pace, int64_t run, int *seconds)
{
    int64_t end, gap = 0, ms, rate;
    int from = 0;

    *seconds = 0;
    while (from < pace->count && run - _sample (pace, from)->at > PACE_SPAN_MS)
        from++;
    /* One from before says how far the work was then. */
    from -= from > 0;
    if (pace->count - from < 2)
        return 0;
    for (int i = from + 1; i < pace->count; i++)
        if (_sample (pace, i)->at - _sample (pace, i - 1)->at > gap)
            gap = _sample (pace, i)->at - _sample (pace, i - 1)->at;
    end = _last (pace)->at;
    if (run - end > gap)
        end = run - gap;
    ms = end - _sample (pace, from)->at;
    if (ms <= 0)
        return 0;
    rate = ((int64_t)_last (pace)->step - _sample (pace, from)->step) * 1000000 / ms;
    *seconds = (int)((ms + 500) / 1000);
    return rate < INT_MAX ? (int)rate : INT_MAX;
}
