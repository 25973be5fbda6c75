/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The options: what the user gave, in which component, on top of what the job inherited and
 * what the site set.
 */
#ifndef TF_OPTIONS_H
#define TF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "definition.h"
#include "errtext.h"

/* From slurm_spank_init. In slurmstepd, where this is root, a callback only notes its call. */
int options_register (spank_t spank);

/* In slurmstepd: a list was given to this step. */
bool options_noted (void);

/*
 * sbatch and salloc inside a job: the job's own options are for its steps, not for the new
 * job. Before options_register ().
 */
void options_disinherit (void);

/* A site's default of the option whose plugstack argument is `key`: 1 when it is one, 0 when
 * no option has that key, -1 and err when the value is bad. `value` is kept. */
int options_set_site (const char *key, const char *value, struct errtext *err);

/* A component's options are complete (init_post_opt). -1 and err when they contradict. */
int options_end_component (struct errtext *err);

/* The value in force: the user's, else the job's, the site's, our own default. */
const char *options_value (enum option option);

/* It is the user's or the job's, not a default. */
bool options_is_given (enum option option);

/* "yes" of an option that is yes or no. */
bool options_yes (enum option option);

enum options_use {
    OPTIONS_UNUSED,     /* no list was given anywhere */
    OPTIONS_OFF,        /* "none": switched off for this step */
    OPTIONS_ON,
};

enum options_use options_use (void);

/*
 * The lists in force: one for the whole step, or one for each component. The i-th, NULL
 * beyond the last; *option is OPTION_TASKS or OPTION_TASKS_PER_NODE.
 */
const char *options_list (size_t i, enum option *option);

/* The list in force came with the job. */
bool options_list_inherited (void);

const char *options_name (enum option option);

/* The list that is none: it switches off. */
bool options_is_none (const char *list);

/* The names under which Slurm hands an option on: to srun in a job, and to slurmstepd. */
struct option_variables {
    char to_srun[112];
    char to_step[96];
};

void options_variables (enum option option, struct option_variables *variables);

/* "NAME=VALUE" is one of them, of any option. */
bool options_is_variable (const char *string);

#endif
