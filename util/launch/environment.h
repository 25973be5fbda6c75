/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The environment of a task's program: what Slurm has put there, what a launch adds, and what
 * it removes.
 */
#ifndef TF_ENVIRONMENT_H
#define TF_ENVIRONMENT_H

#include "protocol/client.h"

/*
 * Set the answer's variables, and what follows from them, for this life of the task. `users` has the marks of
 * what the user has set (marks.h). `error_file` is where PyTorch is to write the exception that ended it, or
 * NULL; `notify` is NOTIFY_SOCKET for a task that is watched, or NULL. -1 if Slurm refuses one.
 */
int environment_set (const struct client_answer *answer, const char *users, int life, const char *error_file,
                     const char *notify);

/* Remove the launch's own variables: an srun in the task must not use them, nor the task see the
 * tokens. */
void environment_clean (void);

#endif
