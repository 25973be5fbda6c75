/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task becomes two processes: the task itself, which goes on to exec its program, and its
 * parent, which execs tf-supervise and follows the task to its end. Nothing here knows Slurm.
 */
#ifndef TF_SUPERVISOR_H
#define TF_SUPERVISOR_H

#include <stddef.h>

#include "common/errtext.h"
#include "protocol/supervisor_config.h"

/* The path of tf-supervise in this directory; -1 and err if it cannot be executed. */
int supervisor_find (char *path, size_t size, const char *libexecdir, struct errtext *err);

/* What a supervisor keeps for a task that may be restarted. */
struct supervisor_keeps {
    int messages;               /* the task's stderr, if the program has another one */
    int port;                   /* what holds the task's port */
};

/*
 * Fork. Returns 0 in the child, the task, when its parent has become tf-supervise, which runs and
 * has closed the port that the task holds. -1 and err, without a child, if fork () fails.
 *
 * The parent does not return. If it cannot exec, it sends an exit report, prints the reason and
 * exits with 1; the child exits too. When the parent dies later, the kernel kills the child.
 *
 * `fd` is the connection on which the task registered; the child may close it. config->task is
 * filled in. Signals that arrive meanwhile reach both processes as soon as they are ready.
 *
 * If the task may be started again, the supervisor keeps stdin, stdout and stderr, and *keeps, so it holds the
 * port, too; and the child is traced by it until it execs its program (capture.h). Otherwise `keeps` is
 * not used.
 */
int supervisor_start (const char *path, struct supervisor_config *config, int fd,
                      const struct supervisor_keeps *keeps, struct errtext *err);

#endif
