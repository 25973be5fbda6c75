/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "batch_script.h"

#include <regex.h>
#include <string.h>

/* What starts programs on other nodes; or a here-document, which may be a script that does. */
#define LAUNCHER \
    "(^|[^[:alnum:]_])(srun|mpirun|mpiexec|prun|orterun|psd_run|aprun|ibrun|jsrun|scrun|horovodrun|launch|" \
    "deepspeed|sbatch|salloc|ssh|pdsh|clush|snakemake|nextflow|submitit|submit|flux|dask|ray)" \
    "([^[:alnum:]_]|$)|<<"

/* A backslash at the end of a line continues the command. */
#define BLANKS "([ \t]|\\\\\n)+"
#define OF_WORD "[^ \t\n;&|#]"

/* A command begins a line, or stands after another one; NAME=VALUE and some words may precede it. */
#define COMMAND \
    "(^|[^\\]\n)([^#\n]*[;&|])?[ \t]*" \
    "((exec|time|do|then|[[:alnum:]_]+=" OF_WORD "*)" BLANKS ")*"

/* python, python3, python3.11 and its options, but not -m and -c; or torchrun; with or without a path. */
#define PYTHON \
    "([^ \t\n]*/)?(python[0-9.]*(" BLANKS "-[^mc \t\n]" OF_WORD "*)*|" \
    "torchrun(" BLANKS "(-[^m \t\n]|[^-])" OF_WORD "*)*)"

#define FILE_NAME BLANKS "[^-]" OF_WORD "*\\.py[\"']?([ \t\n;&|]|$)"

static bool _matches (const char *text, const char *pattern)
{
    regex_t regex;
    bool found;

    if (regcomp (&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    found = regexec (&regex, text, 0, NULL, 0) == 0;
    regfree (&regex);
    return found;
}

static bool _is_for_shell (const char *text)
{
    return strncmp (text, "#!", 2) != 0 || memmem (text, strcspn (text, "\n"), "sh", 2);
}

bool batch_script_runs_once (const char *text)
{
    return _is_for_shell (text) && _matches (text, COMMAND PYTHON FILE_NAME) && !_matches (text, LAUNCHER);
}
