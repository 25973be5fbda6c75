/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sleep-until TIME [ROLE]: exit with 0 at TIME, in seconds since 1970. With ROLE, only a task
 * of that TensorFlow role exits; the other tasks sleep until they are killed.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void _sleep_until (double moment)
{
    struct timespec at = { .tv_sec = (time_t)moment };

    at.tv_nsec = (long)((moment - (double)at.tv_sec) * 1e9);
    while (clock_nanosleep (CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

int main (int argc, char *argv[])
{
    const char *role = getenv ("SLURM_TF_ROLE");
    double moment;

    if (argc < 2 || (moment = atof (argv[1])) <= 0) {
        fprintf (stderr, "usage: sleep-until TIME [ROLE]\n");
        return 2;
    }
    if (argc > 2 && (!role || strcmp (role, argv[2]) != 0))
        for (;;)
            pause ();
    _sleep_until (moment);
    return 0;
}
