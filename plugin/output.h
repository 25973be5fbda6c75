/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-log-dir in a task: its output goes to a file of its own.
 */
#ifndef TF_OUTPUT_H
#define TF_OUTPUT_H

#include "common/errtext.h"
#include "common/logdir.h"
#include "protocol/answer.h"

/*
 * Make and open the directory that LOGDIR_VARIABLE of the task's environment names, with Slurm's patterns
 * (%j, %s ...) replaced. 1; 0 if there is no such variable; -1 and err.
 */
int output_prepare (struct logdir *dir, char *const env[], struct errtext *err);

/* The paths of a task's files in DIR. */
struct output_paths {
    char log[PATH_MAX + NAME_MAX];          /* <role><index>.log */
    char error_file[PATH_MAX + NAME_MAX];   /* for PyTorch */
};

void output_paths (struct output_paths *paths, const struct logdir *dir, const struct answer *answer);

/*
 * Open the task's log file, and close DIR. If the file has an earlier step's output, a line with the name
 * of this step follows it. A close-on-exec descriptor; -1 and err.
 */
int output_open (struct logdir *dir, const struct answer *answer, const char *step, struct errtext *err);

/* Let stdout and stderr go there, and close it. */
void output_redirect (int fd);

#endif
