/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a supervisor asks the fork server of its task (launch/fork_server.h) to do, on a SOCK_SEQPACKET
 * pair: one request, to begin a life, and the replies. A reply without a request comes first, when the fork
 * server serves. Both programs are of one installation and on one host, so the messages are these structs.
 * With a request may come descriptors: of a file with an answer (frame_load ()), which this life and those
 * after it use instead of the one before; and of the stdin of this life.
 */
#ifndef TF_FORK_REQUEST_H
#define TF_FORK_REQUEST_H

#include <stdbool.h>
#include <sys/types.h>

#include "check.h"
#include "common/errtext.h"
#include "common/iso_time.h"

/* The name of a life's process until it executes its program: Slurm prepares it, and runs its TaskProlog. */
#define FORK_LIFE_NAME "tf-rank"

struct fork_request {
    int life;                   /* its number: 0 is the first one */
    char at[ISO_TIME_SIZE];     /* when a further one was ordered, for the task's log */
    bool answer, input;         /* these descriptors come with it, in this order */
    struct check_order check;   /* with .number: no life, but this check; `input` is its output */
};

#define FORK_MOST_DESCRIPTORS 2

struct fork_reply {
    enum fork_reply_kind {
        FORK_READY,             /* it serves */
        FORK_BEGUN,             /* the life or the check begins */
        FORK_FAILED,            /* it does not */
        FORK_ENDED,             /* it has ended; at any time */
    } kind;
    pid_t pid;                  /* of the life, a child of the fork server, or the fork server itself */
    int status;                 /* of its end: that of wait () */
    bool unstarted;             /* ... before it had executed its program */
    struct errtext error;       /* if it failed */
};

#endif
