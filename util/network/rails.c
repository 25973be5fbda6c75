/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rails.h"

#include <stdbool.h>
#include <stdlib.h>

#include "addresses/cpus.h"

/* The sets have a CPU in common. */
static bool _meet (const struct cpus *a, const struct cpus *b)
{
    for (size_t i = 0; i < sizeof (a->bits); i++)
        if (a->bits[i] & b->bits[i])
            return true;
    return false;
}

/* Find the interfaces close to `cpus`, or all if none is close. Returns how many there are. */
static size_t _find_close (bool *is_close, const char *cpus, const char *const *local, size_t interfaces)
{
    struct cpus rank, interface;
    bool anywhere = !cpus || cpus_parse (&rank, cpus) < 0;
    size_t count = 0;

    for (size_t j = 0; j < interfaces; j++) {
        is_close[j] =
            anywhere || !local[j] || cpus_parse (&interface, local[j]) < 0 || _meet (&rank, &interface);
        count += is_close[j];
    }
    for (size_t j = 0; count == 0 && j < interfaces; j++)
        is_close[j] = true;
    return count ? count : interfaces;
}

static size_t _least_used (const bool *is_close, const size_t *used, size_t interfaces)
{
    size_t best = interfaces;

    for (size_t j = 0; j < interfaces; j++)
        if (is_close[j] && (best == interfaces || used[j] < used[best]))
            best = j;
    return best;
}

int rails_spread (size_t *chosen, const char *const *cpus, size_t ranks, const char *const *local,
                  size_t interfaces)
{
    bool *is_close = malloc (ranks * interfaces * sizeof (*is_close));
    size_t *choices = malloc (ranks * sizeof (*choices));
    size_t *used = calloc (interfaces, sizeof (*used));
    int rc = is_close && choices && used ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < ranks; i++)
        choices[i] = _find_close (&is_close[i * interfaces], cpus[i], local, interfaces);
    for (size_t choice = 1; rc == 0 && choice <= interfaces; choice++)
        for (size_t i = 0; i < ranks; i++)
            if (choices[i] == choice) {
                chosen[i] = _least_used (&is_close[i * interfaces], used, interfaces);
                used[chosen[i]]++;
            }
    free (is_close);
    free (choices);
    free (used);
    return rc;
}
