/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Whether a process has the same namespaces, root directory and rights as this one, so that this
 * process could start its program again.
 */
#ifndef TF_LIKENESS_H
#define TF_LIKENESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/errtext.h"

/* -1 and err if it has other namespaces, another root directory or other rights. */
int likeness_check (pid_t pid, struct errtext *err);

/*
 * True and err if the file that the process executes would give it rights that it lacks, because it is
 * traced; or if that is not known.
 */
bool likeness_lacks_rights (pid_t pid, struct errtext *err);

#endif
