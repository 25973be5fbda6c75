/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * network.golden has which task gets which interface.
 */
#include "config.h"

#include "unit.h"

#include "network/rails.h"

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
