/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The course of a job: a rank ends, or runs again; when enough have ended the job is over, and the others get
 * their time to end (stop_policy.h).
 */
#ifndef TF_COURSE_H
#define TF_COURSE_H

#include "job.h"

/*
 * A rank has ended, for good or not: IS_KEPT, IS_LOST or IS_DONE. If it had ended before, nothing else
 * changes; otherwise the report is how.
 */
void course_ended (struct job *job, struct rank *rank, enum rank_input how, const struct exit_report *report);

/* A rank hangs, and is not restarted: it runs until it is stopped. */
void course_hangs (struct job *job, const struct rank *rank);

/* A spare gets the place of a rank, which ends with that. Its own state was decided (restarts_replace ()). */
void course_replaced (struct job *job, struct rank *lost, struct rank *spare);

/* True if the job does not need a rank any more that has not ended: it is to be stopped. */
bool course_is_done_with (const struct job *job, const struct rank *rank);

/* True if what runs of it is to end: for that, or for a restart of all. */
bool course_stops (const struct job *job, const struct rank *rank);

/* When the answer to that changes by itself, or NEVER. */
int64_t course_due (const struct job *job);

/* What is to be told: */

/* ... what the end of a rank leads to. Its own reason against a restart, or NULL. */
void course_decided (struct job *job, struct rank *rank, const struct exit_report *report,
                     enum restart_policy_decision decision, const char *cannot);
/* ... which tasks have been killed since that was told last. */
void course_tell_killed (struct job *job);
/* ... that srun has ended, and what ran is lost. */
void course_tell_cut (struct job *job);
/* ... that all have ended, once they have. */
void course_tell_end (struct job *job);

#endif
