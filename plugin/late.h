/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the two stages find each other in a task's process: each looks for the other's file beside its
 * own, among the files that Slurm has loaded. Slurm loads plugins with RTLD_LOCAL, so that a symbol
 * alone is not found.
 */
#ifndef TF_LATE_H
#define TF_LATE_H

#include <slurm/spank.h>

/* What spank_tf.so exports for the second stage; returns what task_init returns. */
#define LATE_STAGE "spank_tf_late_stage"
typedef int late_stage (spank_t spank);
int spank_tf_late_stage (spank_t spank);

#endif
