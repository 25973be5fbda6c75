/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stands for an auth plugin of the Slurm for which this tree is built. A SPANK plugin would not do:
 * until 20.11, its plugin_version is not Slurm's.
 */
#include <stdint.h>

#include <slurm/slurm.h>

extern const uint32_t plugin_version;

const uint32_t plugin_version = SLURM_VERSION_NUMBER;
