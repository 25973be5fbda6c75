/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the time of a step went into. Each moment is in one account, by what is known of the tasks that work
 * (rank_works ()):
 *
 *     launch      until all tasks had their answers
 *     preflight   nodes are checked (--tf-preflight)
 *     starting    programs have begun together, and none has said a step yet
 *     waiting     ... and one that said steps before they began again has not said one
 *     repeated    they have said no higher step than before they began again
 *     progress    they have
 *     noticing    one has failed, or hangs, or its node is lost: until that leads to a restart, or to the end
 *     pausing     from the decision until they begin again; tasks are stopped meanwhile
 *     suspended   Slurm has suspended the job
 *
 * A task that is restarted alone, while others work, changes nothing. If no program says its steps, all that
 * is not another account is `starting`, and what of it was progress is not known (`says`).
 */
#ifndef TF_LEDGER_H
#define TF_LEDGER_H

#include "model.h"

/* All tasks have their answers, after so long. */
void ledger_begin (struct job *job, int64_t launch_ms);

/* A task failed so long ago, in job->run: noticing began then, if a decision follows. */
void ledger_fail (struct job *job, int64_t ago_ms);

/* A program has said a step. */
void ledger_step (struct job *job, const struct rank *rank, const struct signs *signs);

/* To which account does the time from now on belong? At the end of each input. */
void ledger_look (struct job *job);

/* All begin again, or tasks that were restarted alone: with the first one tell what that has cost, once. */
void ledger_tell_again (struct job *job);

/* As the ledger is at this moment of job->now, and of job->run; not before the job's own. */
struct ledger ledger_at (const struct job *job, int64_t now, int64_t run);

/* All tasks have ended, or this process ends: the accounts are complete. */
void ledger_close (struct job *job);

/* The highest step that a program has said; 0: none. */
int ledger_last_step (const struct ledger *ledger);

/* The step's time. */
int64_t ledger_total (const struct ledger *ledger);

#endif
