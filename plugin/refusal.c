/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "refusal.h"

#include <stdlib.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "common/number.h"

void refusal_exit (const char *why)
{
    int code;

    /* srun(1), sbatch(1), salloc(1) */
    if (number_parse (&code, getenv ("SLURM_EXIT_ERROR"), 1, 255) < 0)
        code = 1;
    slurm_error ("spank_tf: %s", why);
    exit (code);
}
