/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the rendezvous wants of a supervisor, the whole of it. It follows from what is known now
 * (job_goal ()), and is told where it differs from what was told on the present connection, so nothing has
 * to be told again, and one that arrives twice changes nothing. GOAL_FIRST is the goal of the first life,
 * which every supervisor has before it hears another.
 */
#ifndef TF_GOAL_H
#define TF_GOAL_H

#include <stdbool.h>

#include "check.h"
#include "common/errtext.h"
#include "frame.h"

enum goal_stop {
    GOAL_RUN,
    GOAL_STOP,                      /* ask what runs to end, and kill it after its grace */
    GOAL_STOP_AT_ONCE,              /* kill it: a spare has its place, there is no other life */
    GOAL_LEASE_OVER,                /* kill it, as if the rendezvous had not been heard: it has failed */
    GOAL_ABORT,                     /* it hangs: let it print its stacks */
    GOAL_SAVE,                      /* ask its program to save and to end, as Slurm would by SIGTERM */
};

/* The exit code of the task, as it ended. */
#define GOAL_OWN_CODE (-1)

struct goal {
    int life; /* that is to run, from 0, or GOAL_NO_LIFE; those before it have ended */
    enum goal_stop stop;            /* ... or this: also what an earlier life has left */
    int report;                     /* the number of the last report of an end that has arrived; 0: none */
    bool leave;                     /* there is no other life: the supervisor may exit, */
    int code; /* with which it leaves, even if no other goal comes; or GOAL_OWN_CODE */
    int question; /* higher than before: report the activity at once */
    struct check_order check; /* of its node, before a life begins */
};

#define GOAL_NO_LIFE (-1)
#define GOAL_UNTOLD (-2)

#define GOAL_FIRST ((struct goal){ .code = GOAL_OWN_CODE })

static inline bool goal_is_same (const struct goal *one, const struct goal *other)
{
    return one->life == other->life && one->stop == other->stop && one->report == other->report
           && one->leave == other->leave && one->code == other->code && one->question == other->question
           && one->check.number == other->check.number;
}

/* NULL if there is no memory. */
struct frame *goal_encode (const struct goal *goal, const char *server_token);

/* -1 and err if the server token is wrong, or the goal malformed. */
int goal_decode (struct goal *goal, const struct frame *frame, const char *server_token, struct errtext *err);

/* Its keys (fields.h). An answer (answer.h) that has them is for the life, and for those after it. */
extern const struct fields goal_fields;

#endif
