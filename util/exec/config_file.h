/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task's TF_CONFIG as a file: in memory, or at a path that the user gives.
 */
#ifndef TF_CONFIG_FILE_H
#define TF_CONFIG_FILE_H

#include "common/errtext.h"

/* A buffer for the path of a file in memory. */
struct config_file_path {
    char text[64];
};

/*
 * Create a file in memory. It stays open across exec, and disappears with the last process that
 * has it open. 0 and *path, /proc/PID/fd/N: other processes of the user on this node can read it
 * too while this process lives. -1 and err.
 */
int config_file_keep (struct config_file_path *path, const char *text, struct errtext *err);

/*
 * Create a file that only the user can read. The file is not deleted afterwards. An existing file
 * is replaced if it is a TF_CONFIG of an earlier step, but not if it is anything else, or the
 * TF_CONFIG of another task of this step. -1 and err.
 */
int config_file_write (const char *path, const char *text, struct errtext *err);

#endif
