/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-run --task: what srun starts in the place of each task's program, and which executes that in the end.
 */
#ifndef TF_RUN_TASK_H
#define TF_RUN_TASK_H

#include "slurm_facts.h"

/* What tf-run tells its tasks, in the word that makes it one: everybody may see it. */
#define RUN_TASK_WORD "--task="
/* Room for it. */
#define RUN_TASK_SIZE 96

/* All of the word but the number of the component, which is its end. */
void run_task_word (char word[RUN_TASK_SIZE], const struct slurm_facts *facts);

/* True if this is such a word. */
bool run_task_is (const char *word);

/* Does not return. argv is the program with its arguments. */
void __attribute__ ((noreturn)) run_task (const char *word, char *argv[]);

#endif
