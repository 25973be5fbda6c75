/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The processes of Keras 3, JAX, DTensor and PyTorch. These frameworks have no roles: a cluster is a number
 * of equal processes, of which process 0 serves as the coordinator of the others.
 */
#ifndef TF_PROCESSES_H
#define TF_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>

#include "roster.h"

/* Where a process is among all, as torchrun counts. */
struct process_place {
    int local, locals;  /* its number among those of its node, in their order, and how many it has */
    int group;          /* the number of its node, in the order of the first processes of each */
};

struct processes {
    int count;          /* 0: the step has none */
    int coordinator;    /* the rank of process 0 */
    /*
     * Every task is a process, and its rank is its number. Only then are the numbers those that
     * JAX takes from SLURM_NTASKS and SLURM_PROCID.
     */
    bool are_ranks;
    struct process_place *place;    /* by rank; NULL if the step has no processes */
    int *rank;                      /* by number; likewise */
};

/*
 * The chief, or master, and the workers of a step without a ps; every other task is none of them.
 * All ranks have roles. To be released with processes_clear (). -1 if there is no memory.
 */
int processes_find (struct processes *processes, const struct roster *roster);

/* A zeroed one is empty. */
void processes_clear (struct processes *processes);

/* The chief is process 0, workers follow in their order. -1: the rank is not a process. */
int processes_number (const struct processes *processes, const struct roster *roster,
                      const struct rank *rank);

/*
 * "DTENSOR_JOBS=10.0.0.1:40000,10.0.0.2:40000", the addresses of all processes in the order of their
 * numbers; `length` includes the NUL. It is shorter than a TF_CONFIG of the step, and to be freed.
 * NULL if there is no memory.
 */
char *processes_jobs (const struct processes *processes, const struct roster *roster, size_t *length);

#endif
