/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lives of a supervised task that may be started again. A life is one run of the task's program.
 * The first one is followed from the task's fork to its exec, to be able to repeat it. The
 * rendezvous orders the next ones; if it has ended, the supervisor starts them by itself.
 */
#ifndef TF_LIVES_H
#define TF_LIVES_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "capture.h"
#include "protocol/exit_report.h"
#include "protocol/life_report.h"
#include "protocol/supervisor_config.h"

struct lives {
    const struct supervisor_config *config;
    bool following;             /* the first life, until its exec */
    bool traced;                /* it has begun to be traced */
    struct capture *capture;    /* NULL: it cannot be started again */
    int number;                 /* of the present life */
    int port;                   /* bound between two lives, for a program that binds it; else -1 */
    char cannot[sizeof (struct errtext)];       /* why not, or "" */
};

/* The configuration must live as long. */
void lives_init (struct lives *lives, const struct supervisor_config *config);
void lives_clear (struct lives *lives);

/*
 * waitpid () has returned this status: the task has stopped while it is followed. `port` is the
 * descriptor of what holds its port, one of those that the program has.
 */
void lives_follow (struct lives *lives, int status, int port);

/* A life has ended, and another one may follow. */
void lives_pause (struct lives *lives);

/*
 * Start the next life; the former one must be dead. The process ID, or -1: then the task cannot be
 * started again.
 */
pid_t lives_next (struct lives *lives);

/* The task cannot be started again, for this reason. */
void lives_end (struct lives *lives, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));

/* What to report of the present life, which has ended. Its text lives as long as *lives. */
struct life_report lives_report (const struct lives *lives, bool asked_to_end);

/*
 * Without the rendezvous: the seconds after which the supervisor may start the task again that has
 * ended so, or -1 if it must not.
 */
int lives_alone_after (const struct lives *lives, const struct exit_report *report);

/* How often it may be started again then. */
int lives_left (const struct lives *lives);

#endif
