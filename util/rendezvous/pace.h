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

/* Of all the time since the restart. When there are more, every second one goes. */
#define PACE_ALL 128

/* A pause that is shorter, such as a checkpoint's, makes a step no slower. */
#define PACE_SLOWER_MS 120000

/* A zeroed one is empty. */
struct pace {
    struct pace_sample {
        int64_t at;
        int step;
    } sample[PACE_SAMPLES]; /* a ring; the last one may follow the one before at once */
    int first, count;
    struct pace_sample all[PACE_ALL];
    int all_count;
    int64_t all_each; /* between two of them; 0: PACE_EACH_MS */
};

/* The highest step since all began together is this one; 0: none has been told. */
void pace_note (struct pace *pace, int64_t run, int step);

/*
 * Steps in 1,000 s, and over how many seconds; 0 if less than two steps were told. When no step comes for
 * longer than ever before in that time, it falls.
 */
int pace_rate (const struct pace *pace, int64_t run, int *seconds);

/*
 * Is it at least a fifth slower than before? Then the steps in 1,000 s from the restart until it became so,
 * and how many seconds ago that was; 0 if it is not.
 */
int pace_before (const struct pace *pace, int64_t run, int *seconds);

#endif
