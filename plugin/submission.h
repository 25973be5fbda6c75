/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How many tasks an srun of a new job will run, and whether the job has --no-kill. SPANK does not tell, so
 * the command line of sbatch or salloc and the script are read once more. An srun takes the job's number,
 * unless it has one of its own: the number counts only if a script, --wrap or the command of salloc has an
 * srun, and nothing in it looks like another number of tasks, or like another list.
 */
#ifndef TF_SUBMISSION_H
#define TF_SUBMISSION_H

#include <stdbool.h>

#include "cmdline.h"

struct submission {
    int tasks;              /* -n, or -N with --ntasks-per-node; 0: not known */
    int tasks_per_node;     /* --ntasks-per-node, if `tasks` is known; 0: not given */
    bool certain;           /* an srun will run that number, if it is known */
    bool lone;              /* batch_script.h */
    bool dies_with_node;    /* without --no-kill; false if that is not known */
};

/* The values of --no-kill that mean the contrary: arg_set_no_kill() in Slurm's src/common/slurm_opt.c. */
bool submission_is_off (const char *value);

/* For this process. */
void submission_read (struct submission *submission);

/* For any command line, the first `options` arguments of which are the command and its options. */
void submission_parse (struct submission *submission, const struct cmdline *line, size_t options);

#endif
