/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the programs are that spank-tf starts, such as tf-supervise.
 */
#ifndef TF_HELPER_H
#define TF_HELPER_H

#include <stddef.h>

#include "errtext.h"

/* The absolute path of this process's own file, and of its directory. NULL if the kernel does not tell. */
const char *helper_own_file (void);
const char *helper_own_directory (void);

/*
 * The file as this process was started, which other hosts have, too: symbolic links are not resolved. The
 * same as helper_own_file () if that is not known.
 */
const char *helper_started_file (void);

/*
 * The path of the program `name` in a directory; -1 if it is too long. Static programs are one file
 * (util/static), so the path is that of this process's own file: start it with argv[0] = `name`.
 */
int helper_path (char *path, size_t size, const char *directory, const char *name);

/* The same with libexecdir=; -1 and err, too, if it cannot be executed. */
int helper_locate (char *path, size_t size, const char *libexecdir, const char *name, struct errtext *err);

/* The first directory of a PATH, NULL or not, that has this program; "" if none has. */
void helper_find (char *directory, size_t size, const char *path, const char *program);

#endif
