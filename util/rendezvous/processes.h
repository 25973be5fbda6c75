/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The processes of Keras 3, JAX and PyTorch. These frameworks have no roles: a cluster is a number
 * of equal processes, of which process 0 serves as the coordinator of the others.
 */
#ifndef TF_PROCESSES_H
#define TF_PROCESSES_H

#include <stdbool.h>

#include "roster.h"

/*
 * Where a task is among all, as torchrun counts. Tasks that are not processes are numbered after these, so
 * that no two tasks have the same number; a spare that waits has none, because it has no program.
 */
struct process_place {
    int number;         /* of the task: that of its process, if it is one; -1: a spare */
    int local, locals;  /* its number among the tasks of its node, and how many processes the node has */
    int group;          /* the number of its node, in the order of the first tasks of each: first those with
                           processes */
};

struct processes {
    int count;          /* 0: the step has none */
    int coordinator;    /* the rank of process 0 */
    /*
     * Every task is a process, and its rank is its number. Otherwise Slurm's own numbers are not those of a
     * step of these processes (slurm_numbers.h).
     */
    bool are_ranks;
    struct process_place *place;    /* by rank; NULL if the step has no processes */
};

/*
 * The chief, or master, and the workers of a step without a ps; every other task is none of them. The chief
 * is process 0, workers follow in their order. All ranks have roles. To be released with processes_clear ().
 * -1 if there is no memory.
 */
int processes_find (struct processes *processes, const struct roster *roster);

/* A zeroed one is empty. */
void processes_clear (struct processes *processes);

#endif
