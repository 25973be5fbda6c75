/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The environment of a task: what Slurm put there, what the plugin adds, and what it takes away.
 */
#ifndef TF_ENVIRONMENT_H
#define TF_ENVIRONMENT_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "frame.h"

/* A variable's value, or NULL. */
const char *environment_get (char *const env[], const char *name);

/* The same, for those who take no array (proxy.h). */
const char *environment_lookup (const char *name, void *env);

/* The same as a number; -1 when it is not there. */
int environment_number (char *const env[], const char *name);

/* Set what the rendezvous answered. -1 when Slurm does not take it. */
int environment_set (spank_t spank, char *const env[], const struct frame *answer);

/*
 * Of a variable that Slurm has set for this task, another value of that kind: in its place where
 * there is room, because Slurm clears 256 KiB for whatever is set.
 */
void environment_correct (spank_t spank, const char *name, const char *value);

/* An srun inside the task starts clean, and nobody reads a secret from it. */
void environment_clean (spank_t spank);

#endif
