/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the Python of each task of a step is, as tf-status on its nodes says (python_ask.h).
 */
#ifndef TF_STACKS_H
#define TF_STACKS_H

#include "common/errtext.h"
#include "reply.h"

/* What an answer may take: srun on many nodes, and a py-spy for each task. */
#define STACKS_MS 120000

/*
 * Set reply->stack: ask those of its tasks that run, with this role (NULL: any). -1 and err: nothing is
 * known. Once.
 */
int stacks_ask (struct reply *reply, const char *role, struct errtext *err);

/* Take a line of such a tf-status: "worker\t3\t+\ttrain.py:20 main". */
void stacks_take_line (struct reply *reply, char *line);

/* Print the tasks of this node, of a job step. -1: it is not known which there are. */
int stacks_print_here (const struct wanted *wanted, const char *role);

/*
 * A table of places, first where few are, of at most so many lines. `role` is that of the tasks, or NULL. To
 * be freed; NULL if there is no memory.
 */
char *stacks_text (const struct reply *reply, const char *role, int most);

#endif
