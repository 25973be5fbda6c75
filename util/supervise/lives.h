/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lives of a supervised task. A life is one run of the task's program. Each one is begun by the
 * task's fork server (launch/fork_server.h): the first one at once, each further one on an order of
 * the rendezvous.
 */
#ifndef TF_LIVES_H
#define TF_LIVES_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "protocol/fork_request.h"
#include "protocol/frame.h"

struct lives {
    int requests;               /* the socket to the fork server; -1: there is none */
    bool over;                  /* there is no other life */
    pid_t fork_server;          /* a child that belongs to no life; 0: there is none */
    int answer;                 /* a file that is to be sent to the fork server; -1: none */
    /*
     * The fork server serves. Before that, its process is the task: other plugins do with it what they do to
     * a task before its program begins, and that may take minutes, as for the image of a container.
     */
    bool serves;
};

/*
 * The lives from the next one on have this answer (protocol/answer.h). -1 and err if there is no memory.
 */
int lives_set_answer (struct lives *lives, struct frame *answer, struct errtext *err);

/* `requests` is readable. True if the fork server serves from now on. */
bool lives_serve (struct lives *lives);

/*
 * Begin a life, with a number greater than that of the one before; every process of that one must be dead.
 * `input` is its stdin, and stays the caller's; -1: it has the task's.
 * Its process ID; or -1 and err: then the task cannot be restarted. It is a child of the fork server, which
 * tells its end; of this process if the fork server has died, and in a task that has one life.
 */
pid_t lives_begin (struct lives *lives, int number, int input, struct errtext *err);

/*
 * Request something else, with a descriptor: a check of the node, whose output goes there. Its process ID, a
 * child of the fork server; or -1 and err: then the task has no other life.
 */
pid_t lives_request (struct lives *lives, const struct fork_request *request, int fd, struct errtext *err);

/* The next end that the fork server has told, when `requests` can be read; false: there is none. */
bool lives_next_end (struct lives *lives, struct fork_reply *end);

/* The task is not restarted any more. The fork server is killed. */
void lives_end (struct lives *lives);

/* Kill the fork server, if there is one, and wait for it. */
void lives_finish (struct lives *lives);

/* True if another life can begin. */
bool lives_can_restart (const struct lives *lives);

/*
 * The child `pid` has ended. True if it was the fork server: the task cannot be restarted any more. It may
 * have told an end before.
 */
bool lives_reaped (struct lives *lives, pid_t pid);

#endif
