/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-run --task: what srun starts in the place of each task's program, and which executes that in the end.
 */
#ifndef TF_RUN_TASK_H
#define TF_RUN_TASK_H

#include "slurm_facts.h"

/* Room for the word of a command line that makes it one. */
#define RUN_TASK_SIZE 96

/*
 * What tf-run tells its tasks, in that word: everybody may see it. All of it but the number of the component,
 * which is its end.
 */
void run_task_word (char word[RUN_TASK_SIZE], const struct slurm_facts *facts);

/* If this command line has such a word, and the program with its arguments: does not return. */
void run_task (int argc, char *argv[]);

#endif
