/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A tf-status on nodes of a job, started by srun --overlap, whose stdout is read here.
 */
#ifndef TF_RELAY_H
#define TF_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "jobs.h"
#include "protocol/frame.h"

/* Words for it at most. */
#define RELAY_WORDS 8

struct relay {
    pid_t srun; /* 0: none */
    bool over; /* set it when all was read: it ends by itself */
    int fd; /* a socket: its stdout */
    int errors; /* a file: its stderr, and srun's */
    struct frame_reader reader;
};

/*
 * Start it with these words, the last one NULL, on so many nodes of the job: those of the list, "n1,n2", or
 * NULL. If this is root, as the job's user. -1 and err. Then relay_end () is needed.
 */
int relay_begin (struct relay *relay, const struct job_info *job, const char *list, int count,
                 const char *const *words, struct errtext *err);

/* The first line that it has printed to stderr, or this text. Returns -1. */
int relay_why (const struct relay *relay, const char *otherwise, struct errtext *err);

/* End it. */
void relay_end (struct relay *relay);

#endif
