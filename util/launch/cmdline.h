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

/* All arguments, from the program's name on. */
struct cmdline {
    size_t count;
    char **text;
};

/* That of this process. Release it with cmdline_clear (). */
void cmdline_read (struct cmdline *line);
void cmdline_clear (struct cmdline *line);

/* True if one of the arguments is this text. */
bool cmdline_has (const struct cmdline *line, const char *argument);

/* Add an argument, which the line then owns, if it is released. -1 if there is no memory. */
int cmdline_add (struct cmdline *line, char *argument);

/*
 * --no-kill, which may have the contrary as its value (arg_set_no_kill () in Slurm's
 * src/common/slurm_opt.c): in these arguments, all of which are options, or in this variable. A later
 * component keeps what the one before has, so that is `otherwise`.
 */
bool cmdline_no_kill (const struct cmdline *line, const char *variable, bool otherwise);

/* An option of srun with a value. */
struct cmdline_option {
    const char *name;           /* "--wait" */
    size_t shortest;            /* like getopt_long (), accept a name with at least so many characters */
    char letter;                /* 'W' for -W, or 0 */
};

/*
 * The value of an option in these arguments, `--name VALUE` or `--name=VALUE`, -W VALUE, -WVALUE or -QW1;
 * if it is there several times, the last one. NULL if the option is not there.
 */
const char *cmdline_find (const struct cmdline *line, const struct cmdline_option *option);

#endif
