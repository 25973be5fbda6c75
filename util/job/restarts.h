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
 * restart_policy.h decides what a failure leads to; here are the lives and the clocks.
 */
#ifndef TF_RESTARTS_H
#define TF_RESTARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "moment.h"
#include "protocol/exit_report.h"
#include "protocol/life_report.h"
#include "restart_policy.h"

struct rank;
struct restarts;

/* What is known of a rank's lives. */
struct life {
    int number;                 /* from 0, of the life that the rank was last to start; it may have ended */
    int event;                  /* that has ended it, from 1; 0: none */
    bool leaves;                /* what it left in the background may still run */
    int ago_ms;                 /* when it ended, before its first report */
    bool again; /* the life has begun after the step's last progress */
    bool sends; /* the program has said at which step it is, in this life or before */
    int step; /* the highest that it has said; 0: none */
    int64_t began; /* the life */
    int failures; /* so often it was the first to fail since the step's last progress */
    int64_t due;                /* if it waits: when to start the next; never before the barrier opens */
};

/*
 * For a step of `tasks` ranks, one or more, which have their roles and run. They must live as long.
 * `grace`: the seconds that the others have to end by themselves after a task that has saved its
 * work. `keeps`: a task that ends with 0 may be one of a later restart of all; until that is
 * impossible Slurm does not learn of its end. A rule without restarts is fine. NULL if there is no memory.
 */
struct restarts *restarts_create (const struct restart_rule *rule, int grace, bool keeps, struct rank *rank,
                                  int tasks);

/* NULL is fine. */
void restarts_destroy (struct restarts *restarts);

/* What time it is, from now on. */
void restarts_time (struct restarts *restarts, int64_t now);

/* What decides. */
struct restart_policy *restarts_policy (const struct restarts *restarts);

/*
 * Progress: a restart after it counts anew. After a restart of all, a program that begins again makes
 * progress when it says that it is at a higher step than any has said before; one that was restarted alone,
 * higher than it has said itself. Programs that do not say it make progress when they have run for ten times
 * as long as the step's programs need to start, and at least a minute.
 */
void restarts_step (struct restarts *restarts, struct rank *rank, int life, int step);

/* A program has served on its address so many milliseconds after it began. */
void restarts_started (struct restarts *restarts, int ms);

/* The highest step that any has said; 0: none has. */
int restarts_last_step (const struct restarts *restarts);

enum restarts_answer {
    RESTARTS_ENDED,             /* for good */
    RESTARTS_WAITS,             /* its supervisor waits: the task may be restarted */
    RESTARTS_KEPT,              /* the same for a task that has ended with 0, and counts as ended */
};

/*
 * The supervisor of a rank reports the end of a life, perhaps not for the first time. *decision is
 * what the end leads to, if it is news; else RESTART_POLICY_NONE.
 */
enum restarts_answer restarts_report (struct restarts *restarts, struct rank *rank,
                                      const struct exit_report *report, const struct life_report *life,
                                      enum restart_policy_decision *decision);

/*
 * A rank hangs, which is a failure, and runs until its report arrives. If that leads to a restart of all, the
 * barrier is there from now on: RESTART_POLICY_ALL. Any other decision has no effect before the report.
 */
enum restart_policy_decision restarts_hang (struct restarts *restarts, struct rank *rank);

/*
 * A rank has a connection again. A barrier does not open before that of each member is back, because
 * its begin must reach all of them.
 */
void restarts_returned (struct restarts *restarts, const struct rank *rank);

/*
 * True if a spare may get the place of a rank. `counted`: the failure of the rank has used a restart before.
 */
bool restarts_can_replace (struct restarts *restarts, const struct rank *rank, bool counted);

/*
 * A spare gets the place of a rank, with its lives and its end: it waits for the next life, and all tasks
 * of the step, which are the members now, are stopped, and begin theirs with it. restarts_can_replace ()
 * was true. The states of both are still those before; that of the spare changes here. `counted`: the
 * failure of the rank has used a restart before; so has that which all gather for.
 */
void restarts_replace (struct restarts *restarts, struct rank *lost, struct rank *spare, bool counted);

/* The work of a rank is done: it is not restarted. */
void restarts_over (struct restarts *restarts, struct rank *rank);

/* By which signal, and when, the step was asked to end, as in a life report; 0: it was not. */
int restarts_asked_signal (const struct restarts *restarts, int64_t *at);

/* No task is restarted after this time. */
void restarts_limit (struct restarts *restarts, int64_t last);

/*
 * True if a rank is to be stopped, so that all can be restarted: also one that has ended with 0, or with
 * a failure that is final, and may have left something in the background, until its supervisor
 * reports that it is stopped.
 */
bool restarts_stops (const struct restarts *restarts, const struct rank *rank);

/* True if members gather at the barrier. */
bool restarts_are_gathering (const struct restarts *restarts);

/* True if the rank is a member of a barrier that is not open: without it, no member starts. */
bool restarts_gathers (const struct restarts *restarts, const struct rank *rank);

/*
 * Why a rank that waited, and was released, is not restarted: ASKED, LATE, or NONE if its work is
 * done, or if what was said about another rank is the reason.
 */
enum restart_policy_decision restarts_why (const struct restarts *restarts, const struct rank *rank);

/* Open the barrier, or give it up, if that is due. */
void restarts_check (struct restarts *restarts);

enum restarts_action {
    RESTARTS_NOTHING,
    RESTARTS_START,             /* start its life */
    RESTARTS_RELEASE,           /* there is no next life: the caller ends the rank */
};

/* What is due for a rank now. The caller does it. */
enum restarts_action restarts_due (struct restarts *restarts, struct rank *rank);

/* The rank to act on first: its end explains the others'. */
struct rank *restarts_first (const struct restarts *restarts);

/* When to check and act again. */
int64_t restarts_due_at (const struct restarts *restarts);

#endif
