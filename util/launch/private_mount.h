/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A directory that is another one for each job, or for slurmd, such as /tmp with job_container/tmpfs, with
 * another plugin of that kind, or with systemd's PrivateTmp. What is written there is removed with the job,
 * or with slurmd.
 */
#ifndef TF_PRIVATE_MOUNT_H
#define TF_PRIVATE_MOUNT_H

#include <stdbool.h>

/*
 * True if the open directory is on a mount of a directory that is named after the job, or after a service of
 * systemd: /proc/self/mountinfo shows which directory is mounted. False if that is not known.
 */
bool private_mount_has (int dir, const char *job);

/* True if this directory's name has the job's number as a word, as /local/containers/4711/.4711. */
bool private_mount_is_named (const char *root, const char *job);

#endif
