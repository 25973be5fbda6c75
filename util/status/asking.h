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
#include "look.h"
#include "relay.h"
#include "reply.h"

/* So many jobs are asked on other hosts, at the same time: each takes a job step of Slurm's. */
#define ASKING_MOST 16

struct asked_job {
    struct job_info info;
    bool asked; /* on another host, unless there are too many */
    struct relay relay; /* .srun is 0: none */
    bool marked; /* its first mark has come */
    char *text; /* of its steps, in this round, or NULL */
    char note[200]; /* why there may be none */
};

/* Set the first group. */
struct asking {
    struct wanted wanted; /* as the user named them */
    struct look look;
    bool local; /* only this host */
    int seconds; /* between two rounds, for those on other hosts; 0: there is one round */

    struct replies here; /* of this host, in this round */
    struct asked_job *jobs; /* those that squeue knew, if it was asked */
    int count;
};

/*
 * Ask. Jobs are looked for as long as none answers. How many have answered; -1 and err: there is no such job,
 * or what is asked fails.
 */
int asking_round (struct asking *asking, struct errtext *err);

/* What is printed of this round: with notes on jobs that have not answered. To be freed, or NULL. */
char *asking_text (const struct asking *asking);

/* Print the notes to stderr, if there are only these. */
void asking_print_notes (const struct asking *asking);

void asking_end (struct asking *asking);

#endif
