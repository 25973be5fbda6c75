/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Asks for the steps of a job, or of all of a user's jobs, wherever their srun runs: the tf-rendezvous of
 * this host; and a tf-status on the first node of each job whose srun does not run here.
 */
#ifndef TF_ASKING_H
#define TF_ASKING_H

#include <stdbool.h>

#include "common/errtext.h"
#include "jobs.h"
#include "relay.h"
#include "replies.h"

/* So many jobs are asked on other hosts, at the same time: each takes a job step of Slurm's. */
#define ASKING_MOST 16

struct asked_job {
    struct job_info info;
    struct relay relay; /* .srun is 0: none */
    char note[200]; /* why there may be no answer, or "" */
};

struct asking {
    const char *job, *step; /* as the user named them, or NULL */
    bool local; /* only this host */
    enum overview_asks asks;
    int seconds; /* between two rounds, for those on other hosts; 0: there is one round */
    /* After asking_begin (): */
    struct asked_job *jobs; /* those that squeue knows, if it was asked */
    int count;
    struct replies first; /* of this host, before squeue was asked */
};

/* Set the first group of members. -1 and err: there is no such job, or what is asked fails. */
int asking_begin (struct asking *asking, struct errtext *err);

/* Add what they answer now. False and err: this host's are not known. */
bool asking_round (struct asking *asking, struct replies *replies, struct errtext *err);

/* Another host will answer once more. */
bool asking_goes_on (const struct asking *asking);

void asking_end (struct asking *asking);

#endif
