/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-tee: the output of a task goes to its log file and to srun. Its programs have two pipes as stdout
 * and stderr, which all lives of the task share. A thread reads them, and writes what it reads to the log
 * file, as it comes, and to what Slurm had given to the task as stdout and stderr, as tee_lines.h says.
 *
 * If nothing takes the output, the program waits, as it does without this. If srun or the log file cannot
 * be written any more, the other one still gets everything. It is a thread, and not a process, so that it
 * cannot be killed alone, and is none of the task's descendants.
 */
#ifndef TF_TEE_H
#define TF_TEE_H

#include <stdbool.h>

#include "common/errtext.h"
#include "protocol/supervisor_config.h"

struct tee;

/*
 * Start, if the configuration says so; otherwise *tp is NULL, which the other functions take. It has copies
 * of this process' stdout and stderr, and owns the descriptors that supervisor_config.h names. All signals
 * must be blocked. -1 and err.
 */
int tee_start (struct tee **tp, const struct supervisor_config *config, struct errtext *err);

/*
 * A life has ended: pass on what is in the pipes now, with '\n' behind an incomplete line. False if that
 * takes more than `ms`; then it is still done.
 */
bool tee_flush (struct tee *tee, int ms);

/*
 * The task has ended: the same, for any time. If a process in the background has the pipes open, as it would
 * have Slurm's, a child of this process passes on its output, until that ends or Slurm ends both.
 */
void tee_finish (struct tee *tee);

#endif
