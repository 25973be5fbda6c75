/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A rank becomes two processes: the task, which goes on to exec its program, and its parent,
 * tf-supervise, which follows it to its end.
 */
#ifndef TF_SUPERVISOR_H
#define TF_SUPERVISOR_H

#include "address.h"
#include "errtext.h"
#include "frame.h"
#include "rank.h"
#include "rendezvous.h"

/* Where it is on this node; -1 and err when it cannot be run. */
int supervisor_find (char *path, size_t size, struct errtext *err);

/*
 * 0 in the task, which is a child from now on and ends with its parent; -1 and err when there
 * is none. The parent does not return: it becomes tf-supervise, or gives up and the task with
 * it. `fd` is the connection to the rendezvous, which the task may close; `srun` its address;
 * `answer` what came by it, with SUPERVISE (the seconds from SIGTERM to SIGKILL).
 */
int supervisor_start (const char *path, const struct rank *rank,
                      const struct rendezvous *rendezvous, const struct address *srun, int fd,
                      const struct frame *answer, struct errtext *err);

#endif
