/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-watchdog in a supervisor: the activity of its task. Heartbeats are messages WATCHDOG=1 of systemd's
 * protocol, on a socket of the task's own, or, of a task that sends none, the growth of its log file.
 *
 * A task that sends heartbeats hangs when it has sent none for SECONDS, or for FIRST from the start of a
 * program to its second heartbeat. The log of a task that sends none counts from FIRST on, if it has grown in
 * the last SECONDS or if the user has given FIRST; or if it has, before or later, grown at five looks, a
 * twentieth of SECONDS apart, over a quarter of SECONDS, without a pause of SECONDS. Start-up output is less
 * than that. Otherwise the task is not watched.
 *
 * With --tf-watchdog=auto a log counts only if it keeps growing like that, with FIRST in place of SECONDS.
 * Then it counts in later lives, too. One that does not count is known to be none when it has not grown for
 * FIRST. Activity is overdue after the minimum time, and the job decides whether the task hangs, based on the
 * longest time without activity in the last 6 to 12 hours: between two heartbeats from the second one on,
 * and between all growths of a log that counts.
 *
 * Time counts only while this process runs, in steps that are bounded: a job that is suspended is not silent.
 */
#ifndef TF_WATCH_H
#define TF_WATCH_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/deadline.h"
#include "log_growth.h"
#include "protocol/signs.h"
#include "protocol/supervisor_config.h"

struct watch {
    struct watch_rule rule;         /* seconds is 0: the task is not watched */
    int fd;                         /* the socket, or -1 */
    struct log_growth *log;         /* or NULL */
    int step_ms;                    /* between two looks */
    bool lives, runs;               /* the task has a life, and its program is executed */
    bool sends;                     /* it has sent a message, in whatever life */
    int64_t looked_ms;              /* CLOCK_MONOTONIC */
    int64_t read_ms;                /* the same: when messages were read last */
    int queue;                      /* so many messages wait on the socket at most */
    bool flooded;                   /* by other users, so that the task's own may have been lost */
    /* Of the present life: */
    int64_t age_ms;                 /* of the program, as far as time counts */
    int64_t sign_ms;                /* its age at the last sign */
    int64_t sign_at_ms; /* when that was, CLOCK_MONOTONIC */
    int messages;
    int64_t second_ms; /* its age at its second message; 0: not yet */
    int growths; /* of the log, since it was silent; */
    int64_t growing_ms; /* the program's age at the first of these, */
    int64_t grew_ms; /* ... and at the last that was counted; */
    int64_t pause_ms; /* the longest silence between all of them that is not learned yet */
    bool judged, has_log;           /* without messages: its log counts; auto: of all lives */
    bool log_grew; /* ever in this life */
    bool paused;                    /* the job is suspended: time does not count */
    bool done;                      /* it has said that it will send no more */
    bool asked; /* it was asked to end; the caller sets it, and activity ends it */
    char status[SIGNS_MAX_STATUS + 1];
    int step; /* the highest of this life; 0: none */
    /* Of all lives: the longest silence between two signs, in the present window and the one before. */
    int64_t slowest_ms[2], window_ms;
    /* What the rendezvous knows: */
    enum signs_source told_source;
    bool told_overdue;
    int told_step;
    int turns, turn; /* with other supervisors, and its own, from 0 */
    int64_t step_due_ms; /* no other step is told before, CLOCK_MONOTONIC */
    int aside_step; /* with turns: what was told aside last, */
    int64_t aside_due_ms; /* ... and no other is before */
    int highest; /* of all lives before this one */
};

/*
 * The socket, or -1, and the log, or NULL, must live as long. A spare is watched when this is called again,
 * with the rule of its place.
 */
void watch_init (struct watch *watch, const struct supervisor_config *config, int fd, struct log_growth *log);

/*
 * Before a life is requested: what processes of the one before have sent, which are dead, is not about it.
 * Afterwards it may be its own: a program may say something before this process goes on.
 */
void watch_discard (const struct watch *watch);

/* A life of the task begins; or has ended. */
void watch_begin (struct watch *watch);
void watch_end (struct watch *watch);

/* What to poll for (fd -1: nothing), and until when. Then call watch_look (). */
struct deadline watch_poll (const struct watch *watch, struct pollfd *pfd);
void watch_look (struct watch *watch, bool executed);

/*
 * True if the rendezvous does not know yet what watch_signs () says. watch_told (): now it does.
 */
bool watch_has_news (const struct watch *watch);
void watch_told (struct watch *watch);

/*
 * In a step of many tasks, whose supervisors take turns with steps: true if there is one to tell out of turn,
 * for tf-status, every half a minute. Then it counts as told so.
 */
bool watch_tells_aside (struct watch *watch);

/* What is known of the life. The caller fills in life, stopped and busy. */
struct signs watch_signs (const struct watch *watch);

#endif
