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

/* Let stdout and stderr go to DIR/<role><index>.log, and close DIR. -1 and err. */
int output_redirect (struct logdir *dir, const struct answer *answer, struct errtext *err);

#endif
