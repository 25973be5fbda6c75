/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stdin of a task that may be restarted. srun sends its input once, through a pipe of slurmstepd's. A
 * program that is read from stdin would be gone after its first life: the next one would read
 * end-of-file and succeed. So each life has a pipe of its own. tf-supervise writes to it all that has
 * come since the task's beginning, and then what comes.
 *
 * While a life runs, its input is read from srun at its pace, as without this. Nothing is read while the
 * next life is about to begin. What comes for a task that has no life, because it is done or a spare, or
 * whose program has closed its stdin, is read at once, so that other tasks need not wait for this one. If
 * more has come than INPUT_MOST, it is not kept, and the task has no other life.
 *
 * A stdin that is not a pipe needs no relay: a file is read again (launch/fork_server.c), /dev/null has no
 * input, and a user sits at a terminal.
 */
#ifndef TF_INPUT_H
#define TF_INPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/errtext.h"
#include "protocol/supervisor_config.h"

/* Bytes. Programs, configurations and lists of files are shorter, and each task of a node has as much. */
#define INPUT_MOST ((size_t)16 << 20)
#define INPUT_MOST_TEXT "16 MiB"

struct input {
    int from;                   /* slurmstepd's pipe; -1: all has come, or there is none */
    int to;                     /* the pipe of the present life; -1: nothing reads it */
    bool relays;                /* each life has a pipe */
    bool begun;                 /* a life has, or it is a spare: what no life reads may be dropped */
    bool lost;                  /* more than INPUT_MOST has come */
    char *kept;
    size_t size, room;          /* of it, and of its memory */
    size_t given;               /* so much of it is in the pipe of the present life, or was */
};

/* To be called while stdin is still the task's. */
void input_init (struct input *input, const struct supervisor_config *config);

/*
 * A life is to begin: *fd is its stdin, to be closed by the caller when the life has it; -1: it has the
 * task's.
 * -1 and err if there is no pipe.
 */
int input_begin (struct input *input, int *fd, struct errtext *err);

/*
 * Wait for these, and then serve them. `waits`: the next life is about to begin. False, once, if no other
 * life can have this input from now on.
 */
void input_poll (const struct input *input, bool waits, struct pollfd pfd[2]);
bool input_serve (struct input *input, const struct pollfd pfd[2]);

#endif
