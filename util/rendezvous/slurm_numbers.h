/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The numbers that Slurm would give to the processes of a step (processes.h) if it ran nothing else: no
 * spare, no evaluator, no auxiliary task, and process 0 in its first task. JAX and PyTorch's libraries take
 * their processes from these variables.
 */
#ifndef TF_SLURM_NUMBERS_H
#define TF_SLURM_NUMBERS_H

#include <stddef.h>

#include "processes.h"
#include "roster.h"

/*
 * What all processes have in common, "SLURM_NTASKS=2" and so on, each with its NUL, which `length` includes:
 * each variable that counts the tasks or nodes of a step, or lists its nodes. Those of the job stay. To be
 * freed. NULL if there is no memory.
 */
char *slurm_numbers (const struct processes *processes, const struct roster *roster, size_t *length);

#endif
