/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command line of the srun, sbatch or salloc in which this plugin runs, for options that SPANK
 * does not report.
 */
#ifndef TF_CMDLINE_H
#define TF_CMDLINE_H

#include <stdbool.h>
#include <stddef.h>

/* The program that srun starts, and its arguments, which are not options of srun. */
struct cmdline_program {
    int argc;
    char **argv;
};

/* True if one of the arguments is this text. */
bool cmdline_has (const char *argument);

/*
 * The value of an option before the program, `--name VALUE` or `--name=VALUE`; if it is there
 * several times, the last one. Like getopt_long (), accept an abbreviated option; `name` includes
 * the dashes, and at least `shortest` characters of it must be there. A short option is found if it
 * is the first one behind its dash: -W 1 and -W1. To be freed; NULL if the option is not there.
 */
char *cmdline_value (const char *name, size_t shortest, const struct cmdline_program *program);

#endif
