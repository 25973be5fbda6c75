/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Execute a program in place of this process.
 */
#ifndef TF_PROGRAM_H
#define TF_PROGRAM_H

#include "common/errtext.h"

/* Exit codes, as a shell has them. */
#define PROGRAM_NOT_EXECUTABLE 126
#define PROGRAM_NOT_FOUND 127

/*
 * Execute argv[0], and search it in PATH if it has no '/'. Unlike execvp(3), do not run a file of
 * an unknown format with a shell. Returns only if that fails: an exit code above, and err.
 */
int program_execute (char *const argv[], struct errtext *err);

#endif
