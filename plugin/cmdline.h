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

/* All arguments, from the program's name on. */
struct cmdline {
    size_t count;
    char **text;
};

/* Release it with cmdline_clear (). */
void cmdline_read (struct cmdline *line);
void cmdline_clear (struct cmdline *line);

/* True if one of the arguments is this text. */
bool cmdline_has (const char *argument);

/* True if this is an option of srun that needs no value, perhaps behind others of that kind, as k in -lk. */
bool cmdline_is_flag (const char *argument, char letter);

/* An option of srun with a value. */
struct cmdline_option {
    const char *name;           /* "--wait" */
    size_t shortest;            /* like getopt_long (), accept a name with at least so many characters */
    char letter;                /* 'W' for -W, or 0 */
};

/*
 * The value of an option before the program, `--name VALUE` or `--name=VALUE`, -W VALUE, -WVALUE or -QW1;
 * if it is there several times, the last one. To be freed; NULL if the option is not there.
 */
char *cmdline_value (const struct cmdline_option *option, const struct cmdline_program *program);

#endif
