/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which options of srun take a value, as `srun --help` of this very srun tells:
 *
 *       -N, --nodes=N               a value, which may be the next word
 *       -I, --immediate[=secs]      a value only behind "=" or the letter
 *       -l, --label                 none
 *
 * Of a plugin's option the help does not show it: "--x11=[first|all]" may be either of the first two.
 */
#ifndef TF_SRUN_HELP_H
#define TF_SRUN_HELP_H

#include <stdbool.h>
#include <stddef.h>

enum srun_value {
    SRUN_VALUE_NONE,
    SRUN_VALUE_BEHIND,      /* none, or one in the same word */
    SRUN_VALUE_NEEDED,      /* in the same word, or the next one */
    SRUN_VALUE_UNKNOWN,     /* the help does not have the option, or it is a plugin's */
};

struct srun_help;

/* Read the text. To be freed; NULL if there is no memory. */
struct srun_help *srun_help_create (const char *text);

/* The option "--nodes", or "-N"; as getopt_long (3), accept an abbreviation of a name. */
enum srun_value srun_help_find (const struct srun_help *help, const char *word);

/* True if srun has exactly this option. */
bool srun_help_has (const struct srun_help *help, const char *name);

#endif
