/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The environment with which a program was executed. Slurm's TaskProlog runs after spank-tf has set its
 * variables, and what it exports replaces them.
 */
#ifndef TF_REPLACED_H
#define TF_REPLACED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The names of the variables of which the process has other values than spank-tf has set: "RANK, TF_CONFIG".
 * False if there are none, or if that is not known.
 */
bool replaced_names (pid_t pid, char *buf, size_t size);

#endif
