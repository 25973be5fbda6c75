/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A set of a node's CPUs, by the kernel's numbers. As text it is a hexadecimal mask: "0xff00" is
 * CPUs 8 to 15.
 */
#ifndef TF_CPUS_H
#define TF_CPUS_H

#include <stdbool.h>

/* CPUs with higher numbers are not supported: a set that has one is treated as unknown. */
#define CPUS_MAX 4096
#define CPUS_MAX_TEXT (CPUS_MAX / 4 + 3)

struct cpus {
    unsigned char bits[CPUS_MAX / 8];
};

/* The CPUs on which this process may run. -1 if the kernel does not report them. */
int cpus_self (struct cpus *cpus);

/* True if the set has as many CPUs as this node has online. */
bool cpus_are_all (const struct cpus *cpus);

/* -1 if the text is not a mask. */
int cpus_parse (struct cpus *cpus, const char *text);

/* Read a file of sysfs, such as a device's local_cpus. -1 if it does not contain a mask. */
int cpus_read (struct cpus *cpus, const char *path);

/* Returns `room`. */
const char *cpus_print (const struct cpus *cpus, char room[CPUS_MAX_TEXT]);

#endif
