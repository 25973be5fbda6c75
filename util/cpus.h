/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A set of a node's CPUs by the kernel's numbers, as text a hexadecimal mask: "0xff00" is
 * CPU 8 to 15.
 */
#ifndef TF_CPUS_H
#define TF_CPUS_H

#include <stdbool.h>

/* More than a node has; beyond it a set is not known. */
#define CPUS_MAX 4096
#define CPUS_MAX_TEXT (CPUS_MAX / 4 + 3)

struct cpus {
    unsigned char bits[CPUS_MAX / 8];
};

/* Those on which this process may run; -1 when that is not known. */
int cpus_self (struct cpus *cpus);

/* Are they all that this node has? */
bool cpus_are_all (const struct cpus *cpus);

bool cpus_are_none (const struct cpus *cpus);

/* -1 when the text is no mask. */
int cpus_parse (struct cpus *cpus, const char *text);

/* From a file of the kernel's, such as a device's local_cpus; -1 when it holds no mask. */
int cpus_read (struct cpus *cpus, const char *path);

/* The result lives in `room`. */
const char *cpus_print (const struct cpus *cpus, char room[CPUS_MAX_TEXT]);

/* Have they one in common? */
bool cpus_meet (const struct cpus *a, const struct cpus *b);

#endif
