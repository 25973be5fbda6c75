/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The values of all options: from the user, for each component of a heterogeneous step; from the
 * job; and from the site.
 */
#ifndef TF_OPTIONS_H
#define TF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "common/errtext.h"
#include "common/option_table.h"

/*
 * Register all options with Slurm, in slurm_spank_init. In slurmstepd, which is root there, the
 * callback ignores the values and only records that a list was given. -1 if Slurm refuses one.
 */
int options_register (spank_t spank);

/* In slurmstepd: true if a list was given to this step. */
bool options_noted (void);

/*
 * For sbatch and salloc inside a job: remove the job's own options from the environment, because
 * they are for the steps of this job and not for the new job. Call it before options_register ().
 */
void options_disinherit (void);

/* Set the site's default. The value is valid, and lives as long as the process. */
void options_set_site (enum option_id option, const char *value);

/* option_check (), and for a list that its roles are those of TensorFlow and the site. -1 and err. */
int options_check (enum option_id option, const char *value, struct errtext *err);

/* Call it when all options of a component are read (init_post_opt). -1 and err if they conflict. */
int options_end_component (struct errtext *err);

/*
 * The value in force: the user's, else the job's, else the site's, else the plugin's default. It is
 * valid; NULL for roles= if the site has none. Not for the lists, which are options_list ().
 */
const char *options_value (enum option_id option);

/* True if the value is the user's or the job's, and not a default. */
bool options_is_given (enum option_id option);

/* True if it is from this command's own line, and not the job's. */
bool options_is_own (enum option_id option);

/* What the value of an option means that is one word of a list: a constant of its enum. */
int options_word (enum option_id option);

/* The value of an option whose value is a number of seconds. */
int options_seconds (enum option_id option);

enum options_use {
    OPTIONS_UNUSED,     /* no list was given */
    OPTIONS_OFF,        /* the list is "none" */
    OPTIONS_ON,
};

enum options_use options_use (void);

/*
 * The i-th list in force, from 0: there is one for the whole step, or one for each component. NULL
 * if there is no such list. *option is OPTION_TASKS or OPTION_TASKS_PER_NODE.
 */
const char *options_list (size_t i, enum option_id *option);

/* True if the list in force was given to the job, and not to this step. */
bool options_list_inherited (void);

/* True if the list is "none", which switches the plugin off. */
bool options_is_none (const char *list);

/* The variables in which Slurm passes an option: from a job to its srun, and to slurmstepd. */
struct option_variables {
    char to_srun[112];
    char to_step[96];
};

void options_variables (enum option_id option, struct option_variables *variables);

/* True if "NAME=VALUE" is such a variable of any of our options. */
bool options_is_variable (const char *string);

#endif
