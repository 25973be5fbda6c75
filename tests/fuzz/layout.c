/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a line with a step's number of tasks, and then SLURM_STEP_NODELIST, some times.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "rendezvous/layout.h"

#define MAX_TASKS 512

FUZZ_TARGET (layout)
{
    char *text = fuzz_text (data, size), *rest = text;
    struct layout layout = { .nodes = 0 };
    int tasks;

    /* A range of node names is short, and its nodes are not; but each has a task. */
    fuzz_allow (MAX_TASKS * 32);
    if (number_parse (&tasks, fuzz_line (&rest), 1, MAX_TASKS) == 0) {
        while (*rest)
            layout_set (&layout, tasks, fuzz_line (&rest));
        CHECK (layout.nodes <= tasks && !layout.nodes == !layout.node);
        for (int i = 0; i < layout.nodes; i++)
            CHECK (*layout.node[i] && strlen (layout.node[i]) <= 255);
        layout_clear (&layout);
    }
    free (text);
}
