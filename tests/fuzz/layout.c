/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a line with a step's number of tasks, and then SLURM_STEP_NODELIST and
 * SLURM_STEP_TASKS_PER_NODE, some times.
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
    int tasks, sum = 0;

    /* A range of node names is short, and its nodes are not; but each has a task. */
    fuzz_allow (MAX_TASKS * 32);
    if (number_parse (&tasks, fuzz_line (&rest), 1, MAX_TASKS) == 0) {
        while (*rest) {
            char *nodes = fuzz_line (&rest);

            layout_set (&layout, tasks, nodes, fuzz_line (&rest));
        }
        CHECK (layout.nodes <= tasks && !layout.nodes == !layout.node);
        for (int i = 0; i < layout.nodes; i++) {
            CHECK (*layout.node[i].name && strlen (layout.node[i].name) <= 255 && layout.node[i].tasks >= 0);
            sum += layout.node[i].tasks;
        }
        CHECK (!layout.node || sum == tasks);
        layout_clear (&layout);
    }
    free (text);
}
