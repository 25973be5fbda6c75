/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The first line of the input is a command line of srun, and the others are what `srun --help` and
 * `scontrol show config` print.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "run/slurm_facts.h"
#include "run/srun_help.h"
#include "run/srun_words.h"

#define MOST_WORDS 64

static enum srun_value _ask (const char *option, void *arg)
{
    (void)arg;
    CHECK (option[0] == '-' && option[1]);
    return SRUN_VALUE_NONE;
}

static void _check_facts (char *text)
{
    struct slurm_facts facts;

    slurm_facts_read_text (&facts, text);
    CHECK (facts.wait_time >= 0 && facts.kill_wait >= -1);
    CHECK (facts.ports.count <= PORT_MAX_RANGES);
}

/* All words are there in their order, but for ours; and before each program there are these two. */
static void _check_words (const struct srun_words *words)
{
    char **all = srun_words_with (words, "TF-RUN", "--task=");
    size_t count = 0, tasks = 0;

    CHECK (all);
    for (; all[count]; count++)
        if (strcmp (all[count], "TF-RUN") == 0) {
            CHECK (strncmp (all[count + 1], "--task=", 7) == 0 && all[count + 2]);
            tasks++;
            free (all[++count]);
        }
    CHECK (tasks >= words->programs && tasks <= words->components);
    CHECK (count >= words->line.count + 2 * tasks);
    free (all);
}

FUZZ_TARGET (srun_words)
{
    char *text = fuzz_text (data, size), *rest = text, *line = fuzz_line (&rest);
    struct srun_words words = { .option = calloc (MOST_WORDS, sizeof (struct srun_words_option)) };
    char *argv[MOST_WORDS + 1] = { (char[]){ "srun" } };
    struct srun_help *help;
    struct errtext err;
    int argc = 1;

    fuzz_allow (128 * 1024);
    CHECK (words.option && (help = srun_help_create (rest)));
    for (char *word; argc < MOST_WORDS && (word = strsep (&line, " "));)
        if (strcmp (word, "TF-RUN") != 0)
            argv[argc++] = word;
    argv[argc] = NULL;
    if (fuzz_succeeded (srun_words_parse (&words, argc, argv, help, _ask, NULL, &err), &err))
        _check_words (&words);
    if (rest)
        _check_facts (rest);
    srun_words_clear (&words);
    free (help);
    free (text);
}
