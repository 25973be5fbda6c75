/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lives of a step's tasks, if they may be restarted. A life is one run of a task's program.
 * Here is which ranks run, which have ended and wait for their next life, and the barrier before a
 * restart of all: its members are stopped, and start when all have ended. What a task that ended
 * with 0 has left in the background may still run, until its next life is to begin.
 *
 * Failures within two seconds of the first one are one event, with one pause: it begins with the last
 * of them, and then all start. What would start a task of the event a second time is another event.
 *
 * restart_policy.h decides what a failure leads to; here are the states and the clocks. No
 * connections: the caller gives the orders.
 */
#ifndef TF_RESTARTS_H
#define TF_RESTARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/deadline.h"
#include "protocol/exit_report.h"
#include "protocol/life_report.h"
#include "restart_policy.h"

struct restarts;

/*
 * For a step of `tasks` ranks, one or more, which all run. role[] has the role of each and is not
 * kept. `grace`: the seconds that the others have to end by themselves after a task that has saved
 * its work. `keeps`: a task that ends with 0 may be one of a later restart of all; until that is
 * impossible Slurm does not learn of its end. NULL if there is no memory.
 */
struct restarts *restarts_create (const struct restart_rule *rule, int grace, bool keeps,
                                  const char *const *role, int tasks);

/* NULL is fine; errno is kept. */
void restarts_destroy (struct restarts *restarts);

/* What decides, for messages. */
const struct restart_policy *restarts_policy (const struct restarts *restarts);

enum restarts_answer {
    RESTARTS_ENDED,             /* for good */
    RESTARTS_WAITS,             /* its supervisor waits: the task may be restarted */
    RESTARTS_KEPT,              /* the same for a task that has ended with 0, and counts as ended */
    RESTARTS_AGAIN,             /* the order to start the life restarts_life () was lost */
};

/*
 * The supervisor of a rank reports the end of a life, perhaps not for the first time. *decision is
 * what the end leads to, if it is news; else RESTART_POLICY_NONE.
 */
enum restarts_answer restarts_report (struct restarts *restarts, int rank,
                                      const struct exit_report *report,
                                      const struct life_report *life,
                                      enum restart_policy_decision *decision);

/*
 * A rank has no connection, or has one again. A barrier does not open before that of each member is
 * back, because an order to start must reach all of them.
 */
void restarts_set_away (struct restarts *restarts, int rank, bool away);

/* A rank counts as ended, because its supervisor is lost; or it has come back. */
void restarts_lost (struct restarts *restarts, int rank);
void restarts_returned (struct restarts *restarts, int rank);

/* The work of a rank is done: it is not restarted. */
void restarts_over (struct restarts *restarts, int rank);

/* By which signal, and when, the step was asked to end, as in a life report; 0: it was not. */
int restarts_asked_signal (const struct restarts *restarts, int64_t *at);

/* No task is restarted after this time. */
void restarts_limit (struct restarts *restarts, struct deadline last);

/*
 * True if a rank is to be stopped, so that all can be restarted: also one that has ended with 0, or with
 * a failure that is final, and may have left something in the background, until its supervisor
 * reports that it is stopped.
 * `serves`: it would not end by itself.
 */
bool restarts_stops (const struct restarts *restarts, int rank, bool serves);

/* True if the rank is a member of a barrier that is not open: without it, no member starts. */
bool restarts_gathers (const struct restarts *restarts, int rank);

/* The number, from 0, of the life that a rank was last to start; it may have ended. */
int restarts_life (const struct restarts *restarts, int rank);

/* True if the end of this life is known, and its supervisor waits. */
bool restarts_waits (const struct restarts *restarts, int rank);

/* How the present life of a rank ended that waits. */
const struct exit_report *restarts_end (const struct restarts *restarts, int rank);

/*
 * Why a rank that waited, and was released, is not restarted: ASKED, LATE, or NONE if its work is
 * done, or if what was said about another rank is the reason.
 */
enum restart_policy_decision restarts_why (const struct restarts *restarts, int rank);

/* Open the barrier, or give it up, if that is due. */
void restarts_check (struct restarts *restarts);

enum restarts_action {
    RESTARTS_NOTHING,
    RESTARTS_START,             /* start the life restarts_life () */
    RESTARTS_RELEASE,           /* there is no next life: the rank has ended */
};

/* What is due for a rank now. It counts as done from then on, so the caller has to do it. */
enum restarts_action restarts_due (struct restarts *restarts, int rank);

/* The rank to act on first: its end explains the others'. */
int restarts_first (const struct restarts *restarts);

/* When to check and act again. */
struct deadline restarts_next (const struct restarts *restarts);

/* True if no supervisor waits. */
bool restarts_are_done (const struct restarts *restarts);

#endif
