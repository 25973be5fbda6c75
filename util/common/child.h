/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Child processes for what could keep this one waiting: a file system or a program that hangs.
 */
#ifndef TF_CHILD_H
#define TF_CHILD_H

#include <sys/types.h>

#define CHILD_MAX_FDS 4

/*
 * fork (). The child has this name, and only the descriptors 0 to count - 1: those of `fd`, -1 for /dev/null.
 * So it keeps nothing else open, however long it hangs.
 */
pid_t child_fork (const char *name, const int fd[], int count);

/*
 * Read what a child writes to a pipe of which `fd` is the other end, and wait for the child. Returns how much
 * it was; -1 if it is more than `size`, if it takes longer, or if the child ends otherwise than with 0. Then
 * the child is killed; it is left alone if it hangs in the kernel. Closes fd.
 */
ssize_t child_answer (pid_t child, int fd, void *answer, size_t size, int ms);

#endif
