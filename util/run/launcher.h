/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What tf-run alone needs of its launch/launcher.h.
 */
#ifndef TF_RUN_LAUNCHER_H
#define TF_RUN_LAUNCHER_H

#include <stdbool.h>

/* Print errors only, as srun --quiet. */
extern bool launcher_is_quiet;

/*
 * Let a launch use the programs beside this one, wherever it was installed or copied to, if they are there;
 * otherwise those of the installation (launch/options.h, OPTION_LIBEXECDIR).
 */
void launcher_use_own_programs (void);

#endif
