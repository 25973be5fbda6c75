/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ask_srun.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"

/* In bytes; srun --help is 9 KB. */
#define MAX_TEXT ((size_t)1024 * 1024)
/* slurmctld may be busy. */
#define ANSWER_MS 300000

static int _become_command (void *words)
{
    char *const *argv = words;

    setenv ("LC_ALL", "C", 1);
    execvp (argv[0], argv);
    return 127;
}

static int _become_complaining (void *words)
{
    dup2 (STDOUT_FILENO, STDERR_FILENO);
    return _become_command (words);
}

/* What a command prints, to be freed; NULL if it fails. */
static char *_ask_command (const char *const argv[])
{
    char *text = calloc (1, MAX_TEXT);

    if (text
        && child_ask ("tf-run", _become_command, (void *)(uintptr_t)argv, -1, text, MAX_TEXT - 1, ANSWER_MS)
               >= 0)
        return text;
    free (text);
    return NULL;
}

/* By the one beside this srun. */
static void _ask_scontrol (const char *srun, struct slurm_facts *facts)
{
    const char *slash = strrchr (srun, '/');
    char scontrol[PATH_MAX], *text;

    snprintf (scontrol, sizeof (scontrol), "%.*sscontrol", slash ? (int)(slash + 1 - srun) : 0, srun);
    if ((text = _ask_command ((const char *const[]){ scontrol, "show", "config", NULL })))
        slurm_facts_read_text (facts, text);
    free (text);
}

char *ask_srun (const char *srun, struct slurm_facts *facts)
{
    slurm_facts_read_files (facts, getenv ("SLURM_CONF"));
    if (!facts->known)
        _ask_scontrol (srun, facts);
    return _ask_command ((const char *const[]){ srun, "--help", NULL });
}

enum srun_value ask_srun_option (const char *option, void *srun)
{
    const char *const argv[] = { srun, option, NULL };
    char *text = calloc (1, MAX_TEXT);
    bool needed;

    /* It fails, and what it has printed is there nevertheless. */
    if (text)
        child_ask ("tf-run", _become_complaining, (void *)(uintptr_t)argv, -1, text, MAX_TEXT - 1, ANSWER_MS);
    needed = text && strstr (text, "requires an argument");
    free (text);
    return needed ? SRUN_VALUE_NEEDED : SRUN_VALUE_NONE;
}
