/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A SPANK plugin that crashes slurmd when it shuts down, so that the backtrace of the core file
 * contains a function of a plugin.
 */
#include <slurm/spank.h>
#include <stdlib.h>

SPANK_PLUGIN (crashing_plugin, 1);

int slurm_spank_slurmd_exit (spank_t spank, int argc, char *argv[])
{
    (void)spank, (void)argc, (void)argv;
    abort ();
}
