/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A job: all that is decided about the supervised tasks of a step. It takes what happens, and what time it
 * is, and appends facts (facts.h), which are to be told. What supervisors are to do follows from what is
 * known (goals.h). It has no clock, socket, stream or process, so that stories can be told about it
 * (tests/unit/shutdown.golden), and it can be simulated. model.h has the data.
 *
 *     job.c          inputs: what happened is noted, and then what it means is decided
 *     duties.c       what each place is to the step
 *     restarts.c     what the end of a life leads to, and how all begin again
 *     finish.c       when the job is over, and what is stopped then
 *     preflight.c    which nodes are bad, before all begin
 *     spares.c       which spare gets a place
 *     absence.c      supervisors without a connection; is srun's host cut off?
 *     goals.c        what supervisors are to do, and with which code they leave
 *     watchdog.c     tasks without activity: hangs
 *     tracebacks.c   tasks that have printed one, and do not end
 *     unanswered.c   nodes that do not reach each other
 *     requeue.c      does the job go on in another run? When are its tasks asked to save?
 *     ledger.c       what the time of the step went into
 *     ends.c         how tasks ended, and what failed first; has each trained alone?
 */
#ifndef TF_JOB_H
#define TF_JOB_H

#include "absence.h"
#include "model.h"
#include "protocol/status.h"

/*
 * Of `tasks` ranks, one or more, and `places`, which have their ranks. They, and the configuration, must live
 * as long. NULL if there is no memory.
 */
struct job *job_create (const struct rendezvous_config *config, struct rank *rank, int tasks,
                        struct place *place, int places);

/* NULL is fine. */
void job_destroy (struct job *job);

/* The launch is complete, after so long: all tasks have supervisors, and run. */
void job_launched (struct job *job, int64_t now, int64_t launch_ms);

/* The supervisor of a rank tells its status, which has not changed in all its parts. */
void job_status (struct job *job, int64_t now, struct rank *rank, const struct status *status);

/* Its connection has ended, and it is lost after `ms` (absence.h); its host was heard last at that moment. */
void job_absent (struct job *job, int64_t now, struct rank *rank, int ms, int64_t heard);

/* It has a connection again, on which it was told nothing, and this is its status. */
void job_returned (struct job *job, int64_t now, struct rank *rank, const struct status *status);

/* What Slurm has answered after FACT_ASKS_SLURM. */
void job_slurm (struct job *job, int64_t now, const struct slurm_job *answer);

/*
 * srun has ended. If tasks run as far as is known, it or they have been killed. If the others have ended by
 * themselves, and the rest has no connection, that is the end.
 */
void job_cut (struct job *job, int64_t now);

/* To be called after each of these, and at job_due () at the latest; or NEVER. */
void job_time (struct job *job, int64_t now);
int64_t job_due (const struct job *job);

#endif
