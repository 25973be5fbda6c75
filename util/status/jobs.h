/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What squeue knows of jobs: which there are, and where their srun runs.
 */
#ifndef TF_JOBS_H
#define TF_JOBS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errtext.h"

struct job_info {
    char name[40]; /* "12", of an array "11_3", of a heterogeneous job "14+0" */
    uint32_t number;
    uint32_t leader; /* of a heterogeneous job the number of its first component, otherwise its own */
    int component; /* of a heterogeneous job, from 0; otherwise -1 */
    int nodes;
    uid_t uid;
    gid_t gid;
    char state[24]; /* "RUNNING" */
    enum {
        JOB_WAITS,      /* or Slurm is later than this program, and nothing is known of this state */
        JOB_RUNS,       /* it has been started, and is not over */
        JOB_IS_OVER,    /* it runs no more, and is not going to */
    } phase;
    bool batch;
    /* Of the batch script; or, of salloc and srun, where that was called; "" before it starts. */
    char host[128];
    char title[64]; /* its name, cut, and made printable */
};

/* The first line of squeue there that has a job. Returns the text behind it; NULL if there is none. */
const char *jobs_parse (struct job_info *info, const char *text);

/*
 * The jobs that "12", "11_3" or "14+1" names: of an array and of a heterogeneous job perhaps several; NULL:
 * this user's that are not over. Returns how many there are in *list, to be freed; -1 and err: squeue fails.
 */
int jobs_find (struct job_info **list, const char *name, struct errtext *err);

#endif
