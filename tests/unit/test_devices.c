/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "common/devices.h"

TEST (a_task_numbers_the_gpus_that_it_has)
{
    static const struct {
        const char *visible;
        int on_node, tasks;
        const char *devices;    /* NULL: JAX's own rule holds */
        int local, own;
    /* clang-format off */
    } row[] = {
        { "0", 1, 1, "0", 0, 1 },
        { "0,1,2,3", 4, 1, "0,1,2,3", 0, 4 },
        /* Each task has its own, and Slurm may number them from 0 for each task, or not. */
        { "0", 4, 4, "0", 3, 1 }, { "3", 4, 4, "0", 3, 1 }, { "2,3", 4, 2, "0,1", 1, 2 },
        { "GPU-af,GPU-03", 4, 2, "0,1", 1, 2 },
        /* The tasks share all of them. */
        { "0,1,2,3", 4, 4, NULL, 2, 0 }, { "0,1,2,3", 4, 2, NULL, 1, 0 },
        /* There are more tasks than GPUs. */
        { "0", 1, 2, "0", 0, 0 }, { "0", 1, 2, "0", 1, 0 }, { "4,5,6,7", 4, 5, "3", 3, 0 },
        { "0,1", 2, 5, "0", 4, 0 }, { "0,1", 2, 5, "1", 3, 0 },
        /* The user's variable, or no GPU at all. */
        { "0,1", -1, 1, NULL, 0, 0 }, { NULL, -1, 1, NULL, 0, 0 }, { "", 2, 1, NULL, 0, 0 },
        { NULL, 2, 1, NULL, 0, 0 }, { "0", 0, 1, NULL, 0, 0 }, { "", 2, 4, NULL, 3, 0 },
        { "0,1", -1, 4, NULL, 3, 0 },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        char buf[64];
        const char *devices =
            devices_of_task (row[i].visible, row[i].on_node, row[i].tasks, row[i].local, buf, sizeof (buf));

        assert_int_equal (devices_own (row[i].visible, row[i].on_node, row[i].tasks), row[i].own);
        assert_int_equal (devices == NULL, row[i].devices == NULL);
        if (devices)
            assert_string_equal (devices, row[i].devices);
    }
}

TEST (a_list_that_does_not_fit_is_left_out)
{
    char buf[8];

    assert_string_equal (devices_of_task ("0,0,0,0", 4, 1, 0, buf, sizeof (buf)), "0,1,2,3");
    assert_null (devices_of_task ("0,0,0,0", 4, 1, 0, buf, sizeof (buf) - 1));
    assert_null (devices_of_task ("0,0,0,0,0,0,0", 7, 1, 0, buf, 3));
    assert_null (devices_of_task ("0,0", 2, 3, 1, buf, 1));
}
