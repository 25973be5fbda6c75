/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a launch adds to the environment of a task, and how that ends with the step. SLURM_TF_ADDED has
 * marks (common/marks.h) of the variables that it has set; a value that one of them had before is kept in
 * SPANK_TF_FORMER_<NAME>. With these an srun, sbatch or salloc that a task runs
 * has the environment that the task would have had without it.
 */
#ifndef TF_ADDITIONS_H
#define TF_ADDITIONS_H

/*
 * Set a variable of the task, unless it has a value that stays (common/variables.h). -1 if Slurm refuses it,
 * or if there are too many.
 */
int additions_set (const char *name, const char *value);

/* When all are set. -1 if Slurm refuses it. */
int additions_end (void);

/*
 * In srun, sbatch and salloc, and in tf-run, at the beginning: take back what an outer step has added to
 * this process' environment. A value that somebody has changed since stays.
 */
void additions_undo (void);

#endif
