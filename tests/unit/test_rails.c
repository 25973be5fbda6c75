/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"
#include "../random.h"

#include <stdio.h>
#include <stdlib.h>

#include "network/rails.h"

#define MAX 8
#define ROUNDS 10000

/* A second implementation of the contract, for sets that are integers. */
static void choose (size_t *chosen, const unsigned int *choice, size_t ranks, size_t interfaces)
{
    size_t used[MAX] = { 0 };

    for (int size = 1; size <= MAX; size++)
        for (size_t i = 0; i < ranks; i++) {
            size_t best = MAX;

            if (__builtin_popcount (choice[i]) != size)
                continue;
            for (size_t j = interfaces; j-- > 0;)
                if (choice[i] & 1U << j && (best == MAX || used[j] <= used[best]))
                    best = j;
            used[chosen[i] = best]++;
        }
}

TEST (random_ranks_and_interfaces_agree_with_the_second_implementation)
{
    uint64_t seed = RANDOM_SEED;
    size_t apart = 0;

    for (int round = 0; round < ROUNDS; round++) {
        size_t ranks = random_next (&seed) % MAX + 1, interfaces = random_next (&seed) % MAX + 1;
        unsigned int near[MAX], choice[MAX];
        const char *cpus_text[MAX], *near_text[MAX];
        char room[2 * MAX][16];
        size_t chosen[MAX], expected[MAX];

        for (size_t j = 0; j < interfaces; j++) {
            near[j] = random_next (&seed) % 4 ? random_next (&seed) & 0x3f : ~0U;
            snprintf (room[j], sizeof (room[j]), "0x%x", near[j]);
            near_text[j] = near[j] == ~0U ? NULL : room[j];
        }
        for (size_t i = 0; i < ranks; i++) {
            unsigned int cpus = random_next (&seed) % 4   ? 1U << random_next (&seed) % 8
                                : random_next (&seed) % 2 ? random_next (&seed) & 0xff
                                                          : ~0U;

            snprintf (room[MAX + i], sizeof (room[MAX + i]), "0x%x", cpus);
            cpus_text[i] = cpus == ~0U ? NULL : room[MAX + i];
            choice[i] = 0;
            for (size_t j = 0; j < interfaces; j++)
                if (cpus == ~0U || near[j] == ~0U || cpus & near[j])
                    choice[i] |= 1U << j;
            if (choice[i] == 0)
                choice[i] = (1U << interfaces) - 1;
        }
        choose (expected, choice, ranks, interfaces);
        assert_int_equal (rails_spread (chosen, cpus_text, ranks, near_text, interfaces), 0);
        assert_memory_equal (chosen, expected, ranks * sizeof (chosen[0]));
        for (size_t i = 1; i < ranks; i++)
            apart += chosen[i] != chosen[0];
    }
    assert_true (apart > ROUNDS);
}

TEST (a_malformed_mask_means_all_cpus)
{
    static const char *const malformed[] = { "ff", "0x", "0xfg", "all" }, *const near[] = { "0x0f", "0xf0" },
                             *const bound[] = { "0x1", "0x1", "0x10" }, *const near_all[] = { "0x1", "1" };
    size_t chosen[4];

    assert_int_equal (rails_spread (chosen, malformed, 4, near, 2), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal (chosen[i], i % 2);
    assert_int_equal (rails_spread (chosen, bound, 3, near_all, 2), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal (chosen[i], i / 2);
}
