/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What srun is told about options that do not fit together, or with its own.
 */
#ifndef TF_SRUN_CHECKS_H
#define TF_SRUN_CHECKS_H

#include "srun_side.h"

/* Of the options in force. -1 and err. */
int srun_checks_options (const struct srun_facts *facts, struct errtext *err);

/*
 * --input, from srun's sources, in its order: with the number of a task, only that one has srun's stdin. A
 * spare would go on with an input that is not its place's. -1 and err.
 */
int srun_checks_input (const struct srun_facts *facts, struct errtext *err);

/* Print what the options in force do not do, or what they change of srun's own. */
void srun_checks_say (const struct srun_facts *facts);

/*
 * Without a list the other options do nothing. Those of the job or the site are meant for other steps, but
 * one on this srun's command line has probably lost its list. Not an error: an alias may have given it.
 */
void srun_checks_unused (void);

#endif
