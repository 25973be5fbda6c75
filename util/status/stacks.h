/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the Python of each task of a step is, as tf-status on its nodes says (python_ask.h).
 */
#ifndef TF_STACKS_H
#define TF_STACKS_H

#include <stdbool.h>

#include "common/errtext.h"
#include "jobs.h"
#include "protocol/overview.h"

/* What an answer may take: srun on many nodes, and a py-spy for each task. */
#define STACKS_MS 120000

struct stack {
    bool known;
    char *text; /* where it is, or why that is not known; NULL: it was not asked */
};

/* One for each rank of an overview. */
struct stacks {
    struct stack *of;
    int ranks;
};

/*
 * Ask those that run, with this role (NULL: any), on the nodes of these jobs, the components of one. -1 and
 * err: nothing is known.
 */
int stacks_ask (struct stacks *stacks, const struct overview *overview, const struct overview_rank *rank,
                const struct job_info *job, int jobs, const char *role, struct errtext *err);

/* Take a line of such a tf-status: "worker\t3\t+\ttrain.py:20 main". */
void stacks_take_line (struct stacks *stacks, const struct overview_rank *rank, char *line);

/* Print the tasks of this node. -1: it is not known which there are. */
int stacks_print_here (const char *job, const char *step, const char *role);

/*
 * A table of places, first where few are, of at most so many lines. To be freed; NULL if there is no memory.
 */
char *stacks_text (const struct stacks *stacks, const struct overview_rank *rank, int most);

void stacks_clear (struct stacks *stacks);

#endif
