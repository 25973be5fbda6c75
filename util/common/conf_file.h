/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * slurm.conf and cgroup.conf, as Slurm reads them. (plugstack.conf has another grammar.)
 */
#ifndef TF_CONF_FILE_H
#define TF_CONF_FILE_H

#include "errtext.h"

/* Gets each KEY=VALUE. */
typedef void conf_file_setting (void *arg, const char *key, const char *value);

/*
 * Read a file and those that it includes. 0; 1 and err if there is no such file; -1 and err if it, or an
 * included one, cannot be read.
 */
int conf_file_read (const char *path, conf_file_setting *setting, void *arg, struct errtext *err);

/*
 * Write the path of `name` to `to`, which has PATH_MAX bytes: an absolute name as it is, another one in the
 * directory of `file`. -1 and err if it is too long.
 */
int conf_file_beside (char *to, const char *file, const char *name, struct errtext *err);

#endif
