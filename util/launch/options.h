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

#include "common/errtext.h"
#include "common/option_table.h"

/*
 * What the options are given to: a submission (sbatch, salloc), whose one list is for all its steps, or a
 * step; and whether its command line has components, separated by ":". Call it first; without it, to a step
 * that has none.
 */
void options_set_command (bool is_submission, bool with_components);

/* In each component the first value of this option will be the job's own. */
void options_expect_inherited (enum option_id option);

/*
 * Take a value for the present component, in the order in which they were given; NULL: the option was given
 * without one. -1 and err, which names the option, if it is not valid. Does not return for LIST_HELP.
 */
int options_take (enum option_id option, const char *argument, struct errtext *err);

/* Set the site's default. The value is valid, and lives as long as the process. */
void options_set_site (enum option_id option, const char *value);

/* option_check (), and for a list that its roles are those of TensorFlow and the site. -1 and err. */
int options_check (enum option_id option, const char *value, struct errtext *err);

/* Call it when all options of a component are taken. -1 and err if they conflict. */
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

/* True if the list is "none", which switches all of it off. */
bool options_is_none (const char *list);

#endif
