/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How fast a step trains: the highest training step that was told, from time to time. What was before a
 * restart of all tasks does not count. Times are job->run's, which stands still while the job is suspended.
 */
#ifndef TF_PACE_H
#define TF_PACE_H

#include <stdint.h>

/* Of the last five minutes. */
#define PACE_SPAN_MS 300000
#define PACE_EACH_MS 5000
#define PACE_SAMPLES (PACE_SPAN_MS / PACE_EACH_MS + 2)

/* A zeroed one is empty. */
struct pace {
    struct pace_sample {
        int64_t at;
        int step;
    } sample[PACE_SAMPLES]; /* a ring; the last one may follow the one before at once */
    int first, count;
};

/* The highest step since all began together is this one; 0: none has been told. */
void pace_note (struct pace *pace, int64_t run, int step);

/*
 * Steps in 1,000 s, and over how many seconds; 0 if less than two steps were told. When no step comes for
 * longer than ever before in that time, it falls.
 */
int pace_rate (const struct pace *pace, int64_t run, int *seconds);

#endif
