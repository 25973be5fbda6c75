/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "option_variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slurm's prefix of the variable that passes an option to slurmstepd. */
#define TO_STEP "_SLURM_SPANK_OPTION_spank_tf_"
/* Another prefix, before that one, if the variable passes the option from a job to srun. */
#define TO_SRUN "SLURM_SPANK_"

void option_variables_of (enum option_id option, struct option_variables *variables)
{
    char name[40];

    snprintf (name, sizeof (name), "%s", option_table[option].name);
    for (char *p = name; *p; p++)
        if (*p == '-')
            *p = '_';
    snprintf (variables->to_step, sizeof (variables->to_step), TO_STEP "%s", name);
    snprintf (variables->to_srun, sizeof (variables->to_srun), TO_SRUN "%s", variables->to_step);
}

/* True if the string is the option's name with '_' for '-', and "=". */
static bool _names (const char *string, const char *option)
{
    for (; *option; option++, string++)
        if (*string != (*option == '-' ? '_' : *option))
            return false;
    return *string == '=';
}

bool option_variables_has (const char *string)
{
    if (strncmp (string, TO_SRUN, sizeof (TO_SRUN) - 1) == 0)
        string += sizeof (TO_SRUN) - 1;
    if (strncmp (string, TO_STEP, sizeof (TO_STEP) - 1) != 0)
        return false;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].name && _names (string + sizeof (TO_STEP) - 1, option_table[i].name))
            return true;
    return false;
}

void option_variables_unset (void)
{
    struct option_variables variables;

    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].name) {
            option_variables_of ((enum option_id)i, &variables);
            unsetenv (variables.to_srun);
            unsetenv (variables.to_step);
        }
}
