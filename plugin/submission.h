/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a new job of sbatch or salloc has been given: its number of tasks, and --no-kill. SPANK does not tell,
 * so the command line is read once more, and the script with its #SBATCH lines.
 */
#ifndef TF_SUBMISSION_H
#define TF_SUBMISSION_H

#include <stdbool.h>

#include "launch/cmdline.h"

struct submission {
    int tasks;              /* -n, or -N with --ntasks-per-node; 0: not known */
    int tasks_per_node;     /* --ntasks-per-node, if `tasks` is known; 0: not given */
    bool runs_once;         /* batch_script.h */
    bool dies_with_node;    /* without --no-kill; false if that is not known */
};

/* For this process. */
void submission_read (struct submission *submission);

/* For any command line, the first `options` arguments of which are the command and its options. */
void submission_parse (struct submission *submission, const struct cmdline *line, size_t options);

#endif
