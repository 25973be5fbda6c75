/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slurm's cgroup.conf, as far as a launch needs it.
 */
#ifndef TF_CGROUP_CONF_H
#define TF_CGROUP_CONF_H

#include "common/errtext.h"

/*
 * SignalChildrenProcesses in this file: 1 or 0, which is Slurm's default if the file does not set
 * it or does not exist; -1 and err if the file, or one that it includes, cannot be read.
 */
int cgroup_conf_signals_all (const char *path, struct errtext *err);

#endif
