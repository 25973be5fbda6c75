/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a batch script, or the text of --wrap, is sure to do, as far as a look at it tells.
 */
#ifndef TF_BATCH_SCRIPT_H
#define TF_BATCH_SCRIPT_H

#include <stdbool.h>

struct batch_script {
    /*
     * It calls Python, and each of its other commands is one of a few that start no program: Python runs
     * once, on the first node of the job, and without the variables of its tasks. A name of a launcher
     * anywhere in it, also in a comment, a variable as a command, a function, a loop, a here-document,
     * another script: false.
     */
    bool lone;
    /* It has an srun, and nothing that looks like another number of tasks than the job's, or another list. */
    bool srun;
    /* That srun is a command of its own, with all that it is given; the others are harmless, or Python. */
    bool certain;
};

void batch_script_scan (struct batch_script *script, const char *text);

/* True if this text may be an option, or set a variable, for another number of tasks, or another list. */
bool batch_script_changes_number (const char *text);

#endif
