/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Child processes for what could keep this one waiting: a file system or a program that hangs.
 */
#ifndef TF_CHILD_H
#define TF_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "deadline.h"

#define CHILD_MAX_FDS 4

/*
 * fork (). The child has this name, and only the descriptors 0 to count - 1: those of `fd`, -1 for /dev/null.
 * So it keeps nothing else open, however long it hangs.
 */
pid_t child_fork (const char *name, const int fd[], int count);

/* Wait for its end; *status, unless it is NULL, is how it ended. False if it has not ended by then. */
bool child_await (pid_t child, int *status, struct deadline deadline);

/* What a child does. It writes its answer to its stdout, and returns its exit code. */
typedef int child_work (void *arg);

/*
 * Let a child of this name do it, whose stderr is `errors` (-1: /dev/null), and read its answer. Returns the
 * length; -1 if there is no child, or it writes more than `size`, takes longer, or does not end with 0.
 * Then it is killed; it is left alone if it hangs in the kernel. It ends with this process.
 */
ssize_t child_ask (const char *name, child_work *work, void *arg, int errors, void *answer, size_t size,
                   int ms);

/*
 * Let a command do it, found in PATH. What it prints is in `answer` as text, whatever comes of it; with
 * `complains` also its stderr, or why it could not be started. -1 if it fails, prints too much, or takes
 * longer.
 */
int child_command (const char *const argv[], bool complains, char *answer, size_t size, int ms);

#endif
