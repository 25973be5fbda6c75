/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A job, as squeue prints it: where does its srun run?
 */
#ifndef TF_JOB_INFO_H
#define TF_JOB_INFO_H

#include <stdbool.h>
#include <sys/types.h>

/* Fields without blanks, none of which a user chooses. */
#define JOB_INFO_FORMAT "JobArrayID:32,JobID:16,UserID:16,State:32,BatchFlag:8,BatchHost:256"

struct job_info {
    char name[32]; /* "12", or of an array "11_3" */
    int number;
    uid_t uid;
    char state[32]; /* "RUNNING" */
    bool batch;
    char host
        [256]; /* of the batch script; or, of salloc and srun, where that was called; "" before it starts */
};

/* The line that begins there. Returns the next one; NULL if there is none, or it is anything else. */
const char *job_info_parse (struct job_info *info, const char *text);

#endif
