/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ask_srun.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/child.h"

/* In bytes; srun --help is 9 KB. */
#define MAX_TEXT ((size_t)1024 * 1024)
/* slurmctld may be busy. */
#define ANSWER_MS 300000

#define ENGLISH "sh", "-c", "LC_ALL=C exec \"$0\" \"$@\""

/* What a command prints in English, to be freed; NULL if it fails. */
static char *_ask_command (const char *const argv[])
{
    char *text = malloc (MAX_TEXT);

    if (text && child_command (argv, false, text, MAX_TEXT, ANSWER_MS) == 0)
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
    if ((text = _ask_command ((const char *const[]){ ENGLISH, scontrol, "show", "config", NULL })))
        slurm_facts_read_text (facts, text);
    free (text);
}

char *ask_srun (const char *srun, struct slurm_facts *facts)
{
    slurm_facts_read_files (facts, getenv ("SLURM_CONF"));
    if (!facts->known)
        _ask_scontrol (srun, facts);
    return _ask_command ((const char *const[]){ ENGLISH, srun, "--help", NULL });
}

enum srun_value ask_srun_option (const char *option, void *srun)
{
    const char *const argv[] = { ENGLISH, srun, option, NULL };
    char *text = malloc (MAX_TEXT);
    bool needed;

    /* It fails, and what it has printed is there nevertheless. */
    if (text)
        child_command (argv, true, text, MAX_TEXT, ANSWER_MS);
    needed = text && strstr (text, "requires an argument");
    free (text);
    return needed ? SRUN_VALUE_NEEDED : SRUN_VALUE_NONE;
}
