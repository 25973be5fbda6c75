/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is what the first tasks of nodes report of their step: a line with its number of
 * tasks, and then for each node SLURM_GTIDS, SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE.
 */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "rendezvous/layout.h"

#define MAX_TASKS 512
#define MAX_NODES 4

/* Every name is a node's, whether it is known or guessed. */
static void _check_names (struct layout *layout, int tasks)
{
    layout_guess (layout);
    for (int rank = 0; rank < tasks; rank++) {
        const char *name = layout_node (layout, rank);

        CHECK (!name || (*name && strlen (name) <= 255));
    }
}

FUZZ_TARGET (layout)
{
    char *text = fuzz_text (data, size), *rest = text;
    struct layout *layout;
    int tasks;

    /* A range of node names is short, and its nodes are not; but each has a task. */
    fuzz_allow (MAX_TASKS * 32);
    if (number_parse (&tasks, fuzz_line (&rest), 1, MAX_TASKS) == 0) {
        CHECK (layout = layout_create (tasks));
        for (int node = 0; node < MAX_NODES && node < tasks && *rest; node++) {
            char name[8], *ranks = fuzz_line (&rest), *nodes = fuzz_line (&rest);

            snprintf (name, sizeof (name), "n%d", node);
            layout_add (layout, node, node, name);
            layout_add_node_ranks (layout, node, ranks);
            layout_add_step (layout, nodes, fuzz_line (&rest));
            CHECK (layout_node (layout, node));
            _check_names (layout, tasks);
        }
        layout_destroy (layout);
    }
    free (text);
}
