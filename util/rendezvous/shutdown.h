/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The end of the job: supervisors report how their tasks ended, and are ordered to stop the tasks
 * whose work is done. stop_policy.h decides which and when; here are the clocks. The other files:
 *
 *     supervisors.c   what supervisors report, and their orders
 *     absence.c       supervisors without a connection
 *     spares.c        spares that get the places of lost ranks
 *     job.c           a rank has ended, or runs again; is the job over?
 *     relaunch.c      ranks that waited start again, or are let go
 *     end_lines.c     what is printed about ends
 *     watchdog.c      tasks that give no sign of life
 *     unanswered.c    nodes that do not reach each other
 */
#ifndef TF_SHUTDOWN_H
#define TF_SHUTDOWN_H

#include <stdbool.h>

#include "common/deadline.h"
#include "common/errtext.h"
#include "restart_lines.h"
#include "restarts.h"
#include "server.h"
#include "stop_policy.h"
#include "unanswered.h"
#include "watchdog.h"

struct shutdown {
    struct roster *roster;
    struct stop_policy *policy;
    struct restarts *restarts;
    struct restart_lines *lines;        /* NULL without restarts */
    int left;                           /* ranks that have not ended */
    struct deadline launched;           /* when the tasks got their answers */
    struct deadline next_lost;          /* not later than the first time when a rank counts as lost */
    struct deadline grace_over;         /* of evaluators; never before the job is over */
    struct deadline failure_over;       /* fail_grace; never if no task has failed without a ps */
    bool end_shown, miss_shown;         /* what is printed once */
    struct watchdog watchdog;
    struct unanswered unanswered;
    const struct rank *failing;         /* that has begun the last events, so many times in a row: */
    int failures;                       /* see spares_note_failure () */
    int replaced;                       /* ranks whose place a spare has got */
    struct deadline replaced_sign;      /* the first last sign of those that are to begin; or never */
};

/*
 * The launch is complete: supervise the tasks if one may have to be stopped or restarted, or if their
 * ends are to be shown; several tasks also to name the first failure, if every node can and not under
 * STOP_WHEN_NEVER. Under a parallel debugger none is. Sets server->shutdown, to be destroyed. -1 and err.
 */
int shutdown_begin (struct server *server, struct errtext *err);
void shutdown_destroy (struct shutdown *shutdown);

/* Do what is due by now. */
void shutdown_check_time (struct server *server);
/* When to call it again. */
struct deadline shutdown_next (const struct server *server);

/* No supervisor is needed any more. */
bool shutdown_all_ended (const struct shutdown *shutdown);

#endif
