/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who can change what Slurm runs as root: the owners and modes of files, and of each directory and
 * symbolic link on the way to them.
 */
#ifndef TF_OWNERS_H
#define TF_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "findings.h"

#define OWNERS_MAX 256

/* A path is looked at once. Only `owner` and `findings` are to be set. */
struct owners {
    uid_t owner; /* what belongs to this user is right, as what is root's: root, but in tests */
    struct findings *findings;
    struct {
        dev_t device;
        ino_t inode;
    } seen[OWNERS_MAX];
    size_t count;
    size_t bad; /* findings */
};

/*
 * False in a container with users of its own, where root's files are another user's: then nothing is known.
 */
bool owners_are_known (void);

/*
 * Add a finding for each part of the absolute path that others than root can change. `as` says what: "what
 * slurmd runs as root". `names`: this is a directory in which names have a meaning, so that others must
 * not even add one, which they may in a directory above, if it has the sticky bit. A path that does not
 * exist is right as far as it does.
 */
void owners_check (struct owners *owners, const char *path, bool names, const char *as);

#endif
