/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a launch asks of the program of which it is a part. Two programs have these functions: the plugin,
 * which asks SPANK (plugin/spank_launcher.c), and tf-run, which has a process of its own
 * (util/run/launcher.c).
 */
#ifndef TF_LAUNCHER_H
#define TF_LAUNCHER_H

#include <stdbool.h>

/* Print a line for the user: in srun where srun prints, in a task on its stderr. */
void __attribute__ ((format (printf, 2, 3))) launcher_say (bool error, const char *fmt, ...);

/* In a task: the environment of its program as it is now, until the next change. */
char *const *launcher_environment (void);

/* Set a variable there, or remove it. -1 if Slurm or the kernel refuses that. */
int launcher_set (const char *name, const char *value);
int launcher_unset (const char *name);

#endif
