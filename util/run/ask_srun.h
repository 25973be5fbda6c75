/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What srun, and scontrol beside it, tell about themselves. The user's LANG does not count.
 */
#ifndef TF_ASK_SRUN_H
#define TF_ASK_SRUN_H

#include "slurm_facts.h"
#include "srun_help.h"

/*
 * What `srun --help` prints, to be freed; NULL if it fails. And the facts: from the slurm.conf that
 * SLURM_CONF names, which srun reads, too, and without one from slurmctld, by `scontrol show config`. In jobs
 * Slurm sets that variable.
 */
char *ask_srun (const char *srun, struct slurm_facts *facts);

/* Does this option, which has no "=", need a value? This srun says so if it is the last word. */
enum srun_value ask_srun_option (const char *option, void *srun);

#endif
