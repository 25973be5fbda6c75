/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a child of tf-rendezvous has learnt from Slurm about the job, for --tf-requeue: when it ends, whether
 * it may be requeued, and what its runs before this one have reached.
 */
#ifndef TF_SLURM_JOB_H
#define TF_SLURM_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "fields.h"

/* In the order of enum ledger_account (job/model.h). */
#define PAST_RUNS_ACCOUNTS 9

/* The runs of a job that --tf-requeue has joined. They stand in the job's comment, where Slurm keeps them. */
struct past_runs {
    int runs; /* 0: there were none */
    int step; /* the highest training step of the last one; 0: none was told */
    int seconds[PAST_RUNS_ACCOUNTS]; /* the time reports of all of them together: */
    int first; /* ... of LEDGER_STARTING, before the first step of each run */
    int repeated_steps;
    int restarts;
    bool says; /* programs have told steps */
};

/* The longest text of them. */
#define PAST_RUNS_TEXT 512

/* "[spank_tf RUNS=2 STEP=1200 ...]". Returns buf. */
const char *past_runs_print (const struct past_runs *runs, char buf[PAST_RUNS_TEXT]);

/* Find such a text in a comment. Its length, and *begin; 0 if there is none, and *runs are none. */
size_t past_runs_find (struct past_runs *runs, const char *comment, const char **begin);

/* Why Slurm cannot requeue the job at its end. */
enum slurm_job_obstacle {
    SLURM_JOB_GOES_ON, /* it can */
    SLURM_JOB_SILENT, /* Slurm does not answer */
    SLURM_JOB_NO_SCRIPT, /* the job has no batch script */
    SLURM_JOB_FORBIDS, /* --no-requeue */
    SLURM_JOB_ENDLESS, /* it has no time limit */
};

/* The text of a failed command shows no answer of slurmctld, which may still do what it was asked. */
bool slurm_job_is_silence (const char *printed);

/* The longest text of a command that failed. */
#define SLURM_JOB_MAX_ERROR 300

struct slurm_job {
    enum slurm_job_obstacle obstacle;
    int left; /* seconds until the job's time is over, if nothing is in the way */
    struct past_runs runs;
    char error[SLURM_JOB_MAX_ERROR + 1]; /* what a command said that failed, or "" */
};

/* Its keys (fields.h). */
extern const struct fields slurm_job_fields;
extern const struct fields past_runs_fields;

#endif
