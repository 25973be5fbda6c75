/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The job of a supervised step: a rank ends, or runs again; when enough have ended it is over, and
 * the others get their time to end (stop_policy.h).
 */
#ifndef TF_JOB_H
#define TF_JOB_H

#include "shutdown.h"

/*
 * A rank is KEPT, LOST or ENDED from now on. If it had ended before, nothing else changes; otherwise the
 * report is how.
 */
void job_ended (struct server *server, struct rank *rank, enum rank_state state,
                const struct exit_report *report);

/* A rank hangs, and is not restarted: it runs until it is stopped. */
void job_hangs (struct server *server, const struct rank *rank);
/* A spare gets the place of a rank, which ends with that. Its own state was decided (restarts_replace ()). */
void job_replaced (struct shutdown *shutdown, struct rank *lost, struct rank *spare);

/* A rank runs from now on, which waited, or had ended. */
void job_runs (struct shutdown *shutdown, struct rank *rank);

/*
 * How many seconds an evaluator has when the job is over: eval_grace=, or fail_grace= if that is less and the
 * job has failed (stop_policy_failed ()), because no checkpoint comes for which it could wait.
 */
int job_grace (const struct server *server);

/* True if the job does not need a rank any more that has not ended: it is to be stopped. */
bool job_is_done_with (const struct shutdown *shutdown, const struct rank *rank);

#endif
