/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Configuration files of NCCL: /etc/nccl.conf, and a user's own. NCCL takes from them what the
 * environment does not set, so a variable that is set here would override them.
 */
#ifndef TF_NCCL_CONF_H
#define TF_NCCL_CONF_H

#include <stdbool.h>

#define NCCL_CONF_OF_SITE "/etc/nccl.conf"

/*
 * True if the file has a line NAME=VALUE for this name, as NCCL reads it: without blanks, and
 * without comments behind it. False also if the file cannot be read or is not a regular file.
 */
bool nccl_conf_sets (const char *path, const char *name);

#endif
