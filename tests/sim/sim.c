/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     simulate SECONDS [SEED [MOST]]   play histories from this seed on, on all cores; from another one each
 *                                      time without it. MOST: stop when so many have broken a promise
 *     simulate --show SEED             play this one, and print it with its hash
 *
 * The seconds are those in which it has a core, so that it plays as much on a machine that does other work;
 * but it ends when four times as many have passed.
 *
 * A broken promise is printed with the seed, the plan, and the fewest disturbances, from the first on, that
 * still break it. The last line is "N schedules, M broken, from seed S".
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

#define MOST_PRINTED 3
#define MOST_TIMES 4

static struct plan plan;
static struct history history;

static double _seconds (clockid_t clock)
{
    struct timespec now;

    clock_gettime (clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The promise that is broken with so many disturbances, or NULL. */
static const char *_play (int disturbances, const char **why)
{
    world_run (&plan, disturbances, &history, false);
    return promises_check (&history, why);
}

static void _print_broken (const char *promise)
{
    const char *why = "", *name = NULL;
    int disturbances = -1;

    while (!name && disturbances < plan.disturbances)
        name = _play (++disturbances, &why);
    plan_print (&plan, disturbances);
    printf ("    broken: %s: %s\n", name ? name : promise, why ? why : "");
    fflush (stdout);
}

struct count {
    unsigned long long schedules, broken;
};

static void _work (uint64_t seed, int step, double seconds, unsigned long long most, struct count *count)
{
    double last = _seconds (CLOCK_MONOTONIC) + MOST_TIMES * seconds;
    const char *why;

    for (; _seconds (CLOCK_PROCESS_CPUTIME_ID) < seconds && _seconds (CLOCK_MONOTONIC) < last
           && count->broken < most;
         seed += (uint64_t)step) {
        const char *promise;

        plan_make (&plan, seed);
        promise = _play (plan.disturbances, &why);
        count->schedules++;
        if (promise && ++count->broken <= MOST_PRINTED)
            _print_broken (promise);
    }
}

static int _run (double seconds, uint64_t seed, unsigned long long most)
{
    int cores = (int)sysconf (_SC_NPROCESSORS_ONLN), status;
    struct count *count = mmap (NULL, sizeof (*count) * (size_t)cores, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct count all = { 0, 0 };
    bool died = false;

    if (count == MAP_FAILED)
        return EXIT_FAILURE;
    for (int i = 0; i < cores; i++)
        if (fork () == 0) {
            _work (seed + (uint64_t)i, cores, seconds, most, &count[i]);
            exit (0);
        }
    while (wait (&status) > 0)
        died = died || status != 0;
    for (int i = 0; i < cores; i++) {
        all.schedules += count[i].schedules;
        all.broken += count[i].broken;
    }
    if (died)
        printf ("a process has died\n");
    printf ("%llu schedules, %llu broken, from seed %llu\n", all.schedules, all.broken,
            (unsigned long long)seed);
    return died || all.broken || all.schedules == 0 ? EXIT_FAILURE : 0;
}

static int _show (uint64_t seed)
{
    const char *why, *promise;

    plan_make (&plan, seed);
    plan_print (&plan, plan.disturbances);
    world_run (&plan, plan.disturbances, &history, true);
    promise = promises_check (&history, &why);
    if (promise)
        printf ("broken: %s: %s\n", promise, why);
    printf ("hash %016llx\n", (unsigned long long)history.hash);
    return promise ? EXIT_FAILURE : 0;
}

int main (int argc, char *argv[])
{
    uint64_t seed = argc > 2 ? strtoull (argv[2], NULL, 10) : (uint64_t)time (NULL) * 1000;

    if (argc == 3 && strcmp (argv[1], "--show") == 0)
        return _show (seed);
    if (argc < 2 || argc > 4) {
        fprintf (stderr, "usage: simulate SECONDS [SEED [MOST]]; simulate --show SEED\n");
        return EXIT_FAILURE;
    }
    return _run (strtod (argv[1], NULL), seed, argc > 3 ? strtoull (argv[3], NULL, 10) : UINT64_MAX);
}
