/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What Slurm knows of a job.
 */
#ifndef TF_SQUEUE_H
#define TF_SQUEUE_H

#include "common/errtext.h"
#include "job_info.h"

/* The first job of this name, "12" or "11_3". -1 and err: there is none, or squeue fails. */
int squeue_find (struct job_info *info, const char *job, struct errtext *err);

#endif
