/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a tf-rendezvous of this host answers (protocol/overview.h).
 */
#ifndef TF_REPLY_H
#define TF_REPLY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/deadline.h"
#include "common/errtext.h"
#include "protocol/overview.h"

/* One of this host's, by the name of its socket. */
struct reply_source {
    uid_t uid;
    uint64_t number;
    int ms; /* for the answer, */
    size_t bytes; /* ... and in it: root asks a user until these are too many */
};

/*
 * Those of a user; root: of all users. The names are in a file as /proc/net/unix, and a name is no proof:
 * reply_ask () looks who listens. Returns how many there are in *list, to be freed; -1 and err.
 */
int reply_sources (const char *file, uid_t uid, struct reply_source **list, struct errtext *err);

/* Where the Python of a task is, or why that is not known. */
struct stack {
    bool known;
    char *text; /* NULL: it was not asked */
};

struct reply {
    struct overview overview;
    struct overview_rank *rank; /* overview.rows of them */
    struct stack *stack; /* likewise, after stacks_ask (); or NULL */
    struct frame **frame; /* their texts, and of the overview the last one */
    size_t bytes; /* of all of that */
};

/*
 * Ask. -1 and err: it does not answer within five seconds, has another version, or is another user's. Where
 * too many others ask, this one waits until `patience`.
 */
int reply_ask (struct reply *reply, const struct reply_source *source, enum overview_asks asks,
               struct deadline patience, struct errtext *err);

/* The number of its job. */
uint32_t reply_job (const struct reply *reply);

/* A zeroed one is fine. */
void reply_clear (struct reply *reply);

/* Which steps are asked for: all, if the job is NULL. */
struct wanted {
    const char *job; /* a number, "12"; of an array "11", which are all of its jobs, or "11_3" */
    const char *step; /* "0", or NULL: each of the job's */
    bool number; /* the job is a number, and not one of an array */
};

bool wanted_is (const struct wanted *wanted, const struct overview *overview);

/* A zeroed one is empty. */
struct replies {
    struct reply *reply;
    int count;
};

/*
 * Set those of this host, with their ranks if a job is named. One that does not answer is told on stderr, or
 * has just ended. -1 and err: it is not known which there are.
 */
int replies_ask (struct replies *replies, const struct wanted *wanted, struct errtext *err);

void replies_clear (struct replies *replies);

#endif
