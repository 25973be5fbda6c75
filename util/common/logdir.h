/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The directory of --tf-log-dir. It has one file for each task, and master.log for the step.
 */
#ifndef TF_LOGDIR_H
#define TF_LOGDIR_H

#include <limits.h>
#include <stdbool.h>

#include "errtext.h"

/* The variable in which srun passes the path to the tasks, with Slurm's patterns (pattern.h). */
#define LOGDIR_VARIABLE "SLURM_TF_LOG_DIR"

struct logdir {
    char path[PATH_MAX];    /* absolute */
};

/*
 * Create the directory and its missing parents, with the caller's user and umask. -1 and err if
 * that fails, or if the caller may not create files in the directory.
 */
int logdir_make (const struct logdir *dir, struct errtext *err);

/*
 * Open a file in the directory with O_APPEND and O_CLOEXEC. An existing file is truncated unless
 * `append` is set. Returns the descriptor; -1 and err.
 */
int logdir_open (const struct logdir *dir, bool append, const char *name, struct errtext *err);

#endif
