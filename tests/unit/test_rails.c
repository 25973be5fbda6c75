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

/* The interface of each rank, as in "0 1 0 ". The lists end with "". */
static const char *spread (const char *const *cpus, const char *const *near)
{
    static char text[8 * MAX];
    size_t chosen[MAX], ranks = 0, interfaces = 0;

    while (!cpus[ranks] || *cpus[ranks])
        ranks++;
    while (!near[interfaces] || *near[interfaces])
        interfaces++;
    assert_int_equal (rails_spread (chosen, cpus, ranks, near, interfaces), 0);
    text[0] = '\0';
    for (size_t i = 0; i < ranks; i++)
        snprintf (text + strlen (text), sizeof (text) - strlen (text), "%zu ", chosen[i]);
    return text;
}

struct row {
    const char *cpus[MAX], *near[MAX], *chosen;
};

static void check (const struct row *row, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal (spread (row[i].cpus, row[i].near), row[i].chosen);
}

TEST (a_rank_uses_the_interface_local_to_its_cpus)
{
    static const struct row row[] = {
        { { "0x1", "" }, { "0x0f", "0xf0", "" }, "0 " },
        { { "0x80", "" }, { "0x0f", "0xf0", "" }, "1 " },
        { { "0x80", "0x1", "0x2", "0x40", "" }, { "0x0f", "0xf0", "" }, "1 0 0 1 " },
        { { "0xf0", "0xf0", "0xf0", "" }, { "0x0f", "0xf0", "" }, "1 1 1 " },
        /* one common CPU is enough; masks differ in length, case and leading zeros */
        { { "0x1f", "0xfff00000", "0x000100", "0xF0", "" },
          { "0x100", "0x0010", "0x80000000000000000000000080000000", "" },
          "1 2 0 1 " },
        /* masks longer than a machine word */
        { { "0x10000000000000000000000000000000000000000000000000", "" },
          { "0xffffffffffffffff", "0xf0000000000000000000000000000000000000000000000000", "" },
          "1 " },
    };

    check (row, COUNT (row));
}

TEST (unbound_ranks_are_spread_over_all_interfaces)
{
    static const struct row row[] = {
        { { NULL, "" }, { "0x0f", "0xf0", "" }, "0 " },
        { { NULL, NULL, NULL, NULL, NULL, "" }, { "0x0f", "0xf0", "" }, "0 1 0 1 0 " },
        { { "0xff", "0xff", "0xff", "" }, { "0x0f", "0xf0", "" }, "0 1 0 " },
        { { NULL, "0x18", "0xffff", NULL, "" }, { "0x0f", "0xf0", "0xff", "" }, "0 1 2 0 " },
        { { NULL, NULL, "" }, { "0x1", "" }, "0 0 " },
    };

    check (row, COUNT (row));
}

TEST (an_interface_without_locality_is_local_to_all_cpus)
{
    static const struct row row[] = {
        { { "0x1", "0x1", "0x10", "0x10", "" }, { NULL, NULL, "" }, "0 1 0 1 " },
        { { "0x1", "0x1", "0x1", "0x1", "" }, { "0x1", "0x2", NULL, "" }, "0 2 0 2 " },
        { { "0x4", "0x4", "" }, { "0x1", "0x2", NULL, "" }, "2 2 " },
    };

    check (row, COUNT (row));
}

TEST (ranks_without_a_local_interface_are_spread_over_all)
{
    static const struct row row[] = {
        { { "0xf00", "0xf00", "0xf00", "" }, { "0x0f", "0xf0", "" }, "0 1 0 " },
        { { "0x0", "0x1", "" }, { "0x0f", "0xf0", "" }, "1 0 " },
        { { "0x1", "0x1", "" }, { "0x0", "0x0", "" }, "0 1 " },
    };

    check (row, COUNT (row));
}

TEST (a_malformed_mask_means_all_cpus)
{
    static const struct row row[] = {
        { { "ff", "0x", "0xfg", "all", "" }, { "0x0f", "0xf0", "" }, "0 1 0 1 " },
        { { "0x1", "0x1", "0x10", "" }, { "0x1", "1", "" }, "0 0 1 " },
    };

    check (row, COUNT (row));
}

TEST (the_rank_with_the_fewest_choices_is_assigned_first)
{
    static const struct row row[] = {
        /* bound ranks are assigned first, unbound ranks use what is left */
        { { NULL, NULL, "0x1", "0x1", "" }, { "0x1", "0x2", "" }, "1 1 0 0 " },
        { { NULL, "0x2", NULL, "0x1", NULL, "" }, { "0x1", "0x2", "" }, "0 1 1 0 0 " },
        /* a rank with two local interfaces precedes a rank with three */
        { { "0x7", "0x6", "0x1", "0x6", "" }, { "0x1", "0x2", "0x4", "" }, "0 1 0 2 " },
        { { "0x3", "0x3", "0x6", "0x6", "" }, { "0x1", "0x2", "0x4", "" }, "0 1 2 1 " },
        { { "0x7", "0x7", "0x7", "0x1", "0x3", "" }, { "0x1", "0x2", "0x4", "" }, "2 0 1 0 1 " },
    };

    check (row, COUNT (row));
}

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

TEST (a_thousand_ranks_are_spread_evenly)
{
    enum { MANY = 1000, FEW = 64 };
    const char *cpus[MANY] = { NULL }, *near[FEW] = { NULL };
    size_t chosen[MANY], used[FEW] = { 0 };

    assert_int_equal (rails_spread (chosen, cpus, MANY, near, FEW), 0);
    for (size_t i = 0; i < MANY; i++)
        used[chosen[i]]++;
    for (size_t j = 0; j < FEW; j++)
        assert_between (used[j], MANY / FEW, MANY / FEW + 1);
}
