/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task becomes two processes: its parent execs tf-supervise, and follows the task to its end; the child
 * is the task's fork server (fork_server.h), whose lives go on to exec the program. Nothing here
 * knows Slurm.
 */
#ifndef TF_SUPERVISOR_H
#define TF_SUPERVISOR_H

#include "common/errtext.h"
#include "fork_server.h"
#include "output.h"
#include "protocol/supervisor_config.h"

/*
 * Fork. Returns 0 in the child, with requests, supervisor and mask of *server filled in. It must call
 * fork_server_run (), whose first life begins when tf-supervise runs, and so has closed the port that the
 * task holds. -1 and err, without a child, if fork () fails.
 *
 * The parent does not return. If it cannot exec, it sends an exit report, prints the reason and exits
 * with 1; the child exits too.
 *
 * `fd` is the connection on which the task registered; the child may close it. config->fork_server is
 * filled in. With output->tee tf-supervise gets the log file and the pipes, too. Signals that arrive
 * meanwhile reach both processes as soon as they are ready.
 */
int supervisor_start (const char *path, struct supervisor_config *config, int fd, const struct output *output,
                      struct fork_server *server, struct errtext *err);

#endif
