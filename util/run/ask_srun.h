/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What srun, and scontrol beside it, print about themselves. The user's LANG does not count.
 */
#ifndef TF_ASK_SRUN_H
#define TF_ASK_SRUN_H

#include "srun_help.h"

/* `srun --help` and `scontrol show config`, at the same time; each to be freed. NULL if it cannot be had. */
struct ask_srun_texts {
    char *help, *config;
};

void ask_srun (const char *srun, struct ask_srun_texts *texts);

/* Does this option, which has no "=", need a value? This srun says so if it is the last word. */
enum srun_value ask_srun_option (const char *option, void *srun);

#endif
