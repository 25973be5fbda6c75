/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * srun's side of tf-rendezvous: start it. It is not part of Slurm, and is tested without it.
 */
#ifndef TF_RENDEZVOUS_H
#define TF_RENDEZVOUS_H

#include "common/errtext.h"
#include "protocol/frame.h"

/*
 * Start the program for this step, "12.0", and wait until it has read its configuration. It gets
 * the listening socket, which is closed here. It prints to this process' stderr, or to the file
 * `messages` if that is not NULL. It ends when the descriptor that is returned, which is close-on-exec, is
 * closed in all processes, so when this one has ended. -1 and err if it cannot be started, or if it ends
 * before it has read its configuration. `step` is for those who look at processes; NULL: it is not known
 * yet.
 */
int rendezvous_start (const char *program, const char *step, const char *messages, int listener,
                      struct frame *configuration, struct errtext *err);

#endif
