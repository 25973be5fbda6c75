/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The variables in which Slurm passes an option of the plugin: from a job to its srun, and to slurmstepd.
 */
#ifndef TF_OPTION_VARIABLES_H
#define TF_OPTION_VARIABLES_H

#include <stdbool.h>

#include "common/option_table.h"

struct option_variables {
    char to_srun[112];
    char to_step[96];
};

void option_variables_of (enum option_id option, struct option_variables *variables);

/* True if "NAME=VALUE" is such a variable of any of our options. */
bool option_variables_has (const char *string);

/* Remove those of this process' environment. */
void option_variables_unset (void);

#endif
