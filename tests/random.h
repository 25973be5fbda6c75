/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers that look random, and are the same on every machine, so that a failure can be reproduced.
 * tests/fuzz makes inputs of them; a unit test that compares with a second implementation, or with the
 * shell, makes cases.
 */
#ifndef TF_RANDOM_H
#define TF_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#define RANDOM_SEED UINT64_C (0x5370544600000001)

/* xorshift64* */
static inline uint32_t random_next (uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (uint32_t)(*seed * UINT64_C (0x2545f4914f6cdd1d) >> 32);
}

/* The numbers 0 to count - 1 in any order. */
static inline void random_order (uint64_t *seed, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = random_next (seed) % (i + 1);

        order[i] = j < i ? order[j] : i;
        order[j] = i;
    }
}

#endif
