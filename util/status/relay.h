/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A tf-status on nodes of a job, started by srun --overlap, whose stdout is read here.
 */
#ifndef TF_RELAY_H
#define TF_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/deadline.h"
#include "common/errtext.h"
#include "jobs.h"

/* Words for it at most. */
#define RELAY_WORDS 8

/* What it prints before the first round, and after each. */
#define RELAY_MARK "\f\n"

struct relay {
    pid_t srun; /* 0: none */
    bool over; /* set it when all was read: it ends by itself */
    int fd; /* its stdout */
    int errors; /* a file: its stderr, and srun's */
    char *text; /* `used` bytes that were read and not yet returned */
    size_t used;
};

/*
 * Start it with these words, the last one NULL, on so many nodes of the job: those of the list, "n1,n2", or,
 * if it is NULL, those that Slurm takes. If this is root, as the job's user. -1 and err. Then relay_end () is
 * needed.
 */
int relay_begin (struct relay *relay, const struct job_info *job, const char *list, int count,
                 const char *const *words, struct errtext *err);

/*
 * What it prints, to be freed: up to the next mark, or all. NULL: it ended or said nothing up to then, or
 * there is no memory.
 */
char *relay_read (struct relay *relay, bool all, struct deadline deadline);

/* The first line that it has printed to stderr, or this text. */
void relay_why (const struct relay *relay, const char *otherwise, char *buf, size_t size);

/* End it. */
void relay_end (struct relay *relay);

#endif
