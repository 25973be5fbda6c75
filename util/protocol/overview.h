/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a job step does now, as tf-status asks tf-rendezvous on a Unix socket of srun's host. The question
 * is one frame. The answer is a frame with the overview and, if that was asked for, one frame for each
 * rank, in their order.
 *
 * Both ends make sure by SO_PEERCRED that the other one is of the user of the job, or root.
 */
#ifndef TF_OVERVIEW_H
#define TF_OVERVIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "fields.h"
#include "signs.h"

/* Strings in bytes: of a question, and of each frame of an answer. */
#define OVERVIEW_MAX_QUESTION 256
#define OVERVIEW_MAX_ANSWER 8192

/* The longest time in an overview, in seconds. */
#define OVERVIEW_MAX_SECONDS 2147483647

enum overview_asks {
    OVERVIEW_ASKS_STEP, /* the overview alone */
    OVERVIEW_ASKS_RANKS, /* the ranks, too */
};

struct overview_question {
    enum overview_asks asks;
};

enum overview_phase {
    OVERVIEW_LAUNCHES, /* not all ranks have registered */
    OVERVIEW_STARTS, /* programs have begun, and those that send steps have sent none yet */
    OVERVIEW_RUNS, /* no program sends its steps, so no more is known */
    OVERVIEW_REPEATS, /* training steps from before the last restart */
    OVERVIEW_TRAINS,
    OVERVIEW_RESTARTS, /* tasks are stopped, and begin again */
    OVERVIEW_SUSPENDED,
    OVERVIEW_ENDS, /* the work is done or has failed; what still runs is ended */
};

/* Whole seconds of the accounts in job/ledger.h. */
struct overview_times {
    int launch, preflight, starting, waiting, repeated, progress, noticing, pausing, suspended;
};

struct overview {
    const char *job_step; /* "12.0" */
    const char *array, *user, *job_name, *srun_host; /* or NULL */
    enum overview_phase phase;
    int ranks;
    int missing; /* of these: not registered */
    int elapsed; /* seconds since srun began the launch */
    int step; /* the highest training step of the lives that run now; 0: none */
    int highest; /* ... of all lives */
    int rate; /* steps in 1,000 s, over the last `rate_seconds`; 0: not known */
    int rate_seconds;
    int rate_before; /* the same before it became slower, `slower` seconds ago; 0: it did not */
    int slower;
    int restarts; /* so far */
    int restarts_left; /* without progress; -1: --tf-restart is not set */
    int repeated_steps;
    struct overview_times times;
    const char *report; /* the times in words, or NULL */
    int rows; /* so many ranks follow: 0 or `ranks` */
};

enum overview_state {
    OVERVIEW_RANK_MISSING, /* not registered */
    OVERVIEW_RANK_REGISTERED, /* it waits for the others */
    OVERVIEW_RANK_BEGINS, /* its life is not seen to run yet */
    OVERVIEW_RANK_RUNS,
    OVERVIEW_RANK_HUNG, /* it runs, and --tf-watchdog found that it hangs */
    OVERVIEW_RANK_STOPPING, /* it runs, and is to end */
    OVERVIEW_RANK_WAITS, /* for its next life */
    OVERVIEW_RANK_ENDED,
    OVERVIEW_RANK_SILENT, /* its node is not heard, or its supervisor has no connection */
    OVERVIEW_RANK_LOST,
    OVERVIEW_RANK_SPARE,
    OVERVIEW_RANK_REPLACED, /* by a spare */
};

struct overview_rank {
    int rank;
    const char *role; /* NULL: not known yet */
    int index;
    const char *node; /* likewise */
    enum overview_state state;
    int step; /* the highest of this life; 0: none */
    enum signs_source source; /* of its activity */
    int sign_age; /* seconds since the last one that the supervisor has told; -1: none */
    int told_age; /* ... since it has told these; -1: it has not */
    int unheard; /* seconds, of SILENT; -1: not known */
    int restarts;
    int code; /* of ENDED: what srun returns of such an end */
    const char *end; /* ... and in words: "exit 1"; or NULL */
    const char *words; /* what its program has sent of its work, or NULL */
};

extern const char *const overview_phase_name[OVERVIEW_ENDS + 1];
extern const char *const overview_state_name[OVERVIEW_RANK_REPLACED + 1];

/* Their keys (fields.h). */
extern const struct fields overview_question_fields;
extern const struct fields overview_fields;
extern const struct fields overview_rank_fields;

/*
 * The abstract name of the socket of a user's tf-rendezvous: "@spank_tf/overview/UID/NUMBER". Other users
 * could take a name, but cannot know this number before. Returns the length of the address.
 */
socklen_t overview_address (struct sockaddr_un *address, uid_t uid, uint64_t number);

/* True if a name of /proc/net/unix is one of these; then its user and number. */
bool overview_name_parse (const char *name, uid_t *uid, uint64_t *number);

#endif
