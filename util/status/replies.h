/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the tf-rendezvous of this host answer, or those of another one, which a tf-status there passes on.
 */
#ifndef TF_REPLIES_H
#define TF_REPLIES_H

#include <stdbool.h>

#include "common/deadline.h"
#include "reply.h"

/* A zeroed one is empty. */
struct replies {
    struct reply *reply;
    int count;
};

/* Which steps are asked for: all, if the job is NULL. */
struct wanted {
    const char *job; /* a number, "12"; of an array "11", which are all of its jobs, or "11_3" */
    const char *step; /* "0", or NULL: each of the job's */
    bool number; /* the job is a number, and not one of an array */
};

bool wanted_is (const struct wanted *wanted, const struct overview *overview);

/*
 * Add those of this host. One that does not answer is told on stderr, or has just ended. -1 and err: it is
 * not known which there are.
 */
int replies_ask (struct replies *replies, const struct wanted *wanted, enum overview_asks asks,
                 struct errtext *err);

/* Pass them on, with a mark at the end. -1 and errno. */
int replies_pass (const struct replies *replies, int fd);

/* Add those that were passed on, up to the mark. -1 and err: it does not come, or nothing that is valid. */
int replies_read (struct replies *replies, struct frame_reader *reader, int fd, struct deadline deadline,
                  struct errtext *err);

void replies_clear (struct replies *replies);

#endif
