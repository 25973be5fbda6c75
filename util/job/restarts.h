/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Restarts: what the end of a life leads to, the phase in which all gather before they begin again, and
 * moves of places to spares. duties.h has the table of what is restarted.
 *
 * A restart of all is for every member, also one that ended with 0: they are stopped, and begin when the last
 * one is in. It is given up if a member cannot come. If a place gets a spare, evaluators and auxiliary tasks
 * begin again with all, because each has the addresses of others.
 */
#ifndef TF_RESTARTS_H
#define TF_RESTARTS_H

#include "model.h"

/* The launch is complete, and all wait for the preflight before their first lives begin. */
void restarts_await_preflight (struct job *job);

/* What a restart that a hang of this place begins would be: DECISION_ALL, and all gather; or why not. */
enum decision restarts_hang (struct job *job, struct place *place);

/* The life that this place was to run has ended, and how is noted. */
void restarts_end (struct job *job, struct place *place);

/* The life of this place has not begun, and is not to: it waits, if all gather, or its end stands. */
void restarts_withdraw (struct job *job, struct place *place, const struct exit_report *report);

/* Give a spare to each place whose rank was unreachable for too long. */
void restarts_replace_silent (struct job *job);

/* The step was asked to end, by this signal then (seconds since 1970; 0: not known): nothing is restarted. */
void restarts_ask (struct job *job, int signal, int64_t at);

/* A program has told a training step, or none (0). Progress makes restarts count anew. */
void restarts_step (struct job *job, struct place *place, int step);

/* How long programs that report no training step have to run to make progress. */
int64_t restarts_lasting_ms (const struct job *job);

/* True if this rank has failed first so many times that its node may be bad. */
bool restarts_fail_again (const struct job *job, const struct rank *rank);

/* Time has passed: is a long life progress? */
void restarts_time (struct job *job);

/*
 * Give a spare to each place whose rank can begin no other life, or has failed first MOST_FAILURES times;
 * begin what is due; let go what waits in vain. And when to do so again, in job->run, or NEVER.
 */
void restarts_act (struct job *job);
int64_t restarts_due (const struct job *job);

/* True if all gather, and this place is one of them. */
bool restarts_gather (const struct job *job, const struct place *place);

/* FACT_DECIDED. */
void restarts_tell (struct job *job, struct place *place, enum decision decision);

#endif
