/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The fork server of a task: a copy of the task as Slurm has prepared it, which waits in task_init. Each
 * life of the task, which is one run of its program, is a fork of it that goes on from there, so that Slurm
 * does for each life what it does for every task: SELinux context, TaskProlog, TMPDIR, search in PATH,
 * limits, container, exec.
 *
 *     slurmstepd
 *       tf-supervise                 the process that slurmstepd started; it orders the lives
 *         fork server                waits, with all signals blocked
 *           life                     and what it starts
 *
 * Two processes guard the tree, each as a subreaper: if tf-supervise is killed, the fork server kills all
 * that is below itself; if the fork server is, the tree becomes tf-supervise's. So no process of a task
 * outlives its supervisor, also where a set-uid program has cleared its own parent-death signal.
 *
 * A task that has one life only needs no process that waits: the fork server becomes that life. Nothing
 * here knows Slurm.
 */
#ifndef TF_FORK_SERVER_H
#define TF_FORK_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/iso_time.h"
#include "protocol/check.h"

#define FORK_SERVER_MOST_OTHERS 32

struct fork_server {
    int requests;               /* a socket to the supervisor, see protocol/fork_request.h */
    pid_t supervisor;           /* the parent of this process */
    sigset_t mask;              /* of the task; all signals are blocked in this process */
    bool may_restart;           /* the task may have more than one life */
    int port;                   /* a bound socket that the first life's exec closes; -1: none */
    int answer;                 /* a file with the answer of the present life; -1: the first one */
    char at[ISO_TIME_SIZE];     /* when the present life was ordered */
    void (*make_check) (
        const struct check_order *order); /* execute it in this process; returns if that fails */

    /* While it serves. */
    int children;               /* a signalfd for SIGCHLD */
    int input;                  /* stdin of the life that is to begin; -1: the task's */
    pid_t life, check; /* 0: none runs */
    pid_t other[FORK_SERVER_MOST_OTHERS];  /* children that belong to no life */
    int others;
};

/*
 * slurmstepd 24.11 and later have handlers for most signals, which would do nothing in the process of a task;
 * exec removes them. A signal that arrives before must not be lost: from now on signals end the process, but
 * for those that are ignored or in the mask. SIGPIPE stays harmless for what Slurm still does there.
 */
void fork_server_take_signals (const sigset_t *mask);

/*
 * Serve the supervisor's requests. Returns in each life, with its number, when the supervisor has ordered
 * it; then the process has the task's signal mask. Does not return in the fork server, which ends when the
 * supervisor does, with the life and all that it has started.
 */
int fork_server_run (struct fork_server *server);

#endif
