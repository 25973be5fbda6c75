/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "srun_words.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "--tf-"

/* Our options. */

/*
 * The option of this name; as getopt_long (3), accept an abbreviation. OPTION_COUNT: there is none, or
 * several.
 */
static enum option_id _find (const char *name, size_t length)
{
    enum option_id found = OPTION_COUNT;
    int count = 0;

    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *other = option_table[i].name;

        if (!other || strncmp (other, name, length) != 0)
            continue;
        found = (enum option_id)i;
        count++;
        if (!other[length])
            return found;
    }
    return count == 1 ? found : OPTION_COUNT;
}

int srun_words_take_option (struct srun_words *words, int argc, char *argv[], int i, struct errtext *err)
{
    const char *name = argv[i] + 2, *equals = strchr (argv[i], '=');
    size_t length = equals ? (size_t)(equals - name) : strlen (name);
    struct srun_words_option option = { .component = words->components,
                                        .before_srun = !words->line.text,
                                        .value = equals ? equals + 1 : NULL };
    struct quoted q;
    bool next;

    if (strncmp (argv[i], PREFIX, sizeof (PREFIX) - 1) != 0)
        return 0;
    option.option = _find (name, length);
    if (option.option == OPTION_COUNT)
        return errtext_set (err, "%s: unknown option; tf-run --help lists all",
                            text_quoted (&q, argv[i], length + 2));
    next = !equals && !option_table[option.option].implied;
    if (next && i + 1 >= argc)
        return errtext_set (err, "--%s needs a value", option_table[option.option].name);
    if (next)
        option.value = argv[i + 1];
    words->option[words->options++] = option;
    return next ? 2 : 1;
}

/* srun's. */

struct parser {
    struct srun_words *words;
    const struct srun_help *help;
    srun_words_ask *ask;
    void *arg;
};

static void _add (struct srun_words *words, char *text, enum srun_word kind)
{
    words->line.text[words->line.count] = text;
    words->kind[words->line.count++] = kind;
}

static void _add_option (struct srun_words *words, char *text)
{
    _add (words, text, SRUN_WORD_OPTION);
    words->srun_options.text[words->srun_options.count++] = text;
}

static enum srun_value _long (const struct parser *p, const char *word)
{
    static const char quiet[] = "--quiet";
    enum srun_value value;

    /* "--qui" may be --quit-on-interrupt. */
    if (strlen (word) > strlen ("--qui") && strncmp (quiet, word, strlen (word)) == 0)
        p->words->quiet = true;
    if (strchr (word, '='))
        return SRUN_VALUE_NONE;
    value = srun_help_find (p->help, word);
    return value == SRUN_VALUE_UNKNOWN ? p->ask (word, p->arg) : value;
}

/* -N3, -N 3, -lN3, -lN 3 */
static enum srun_value _letters (const struct parser *p, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        char option[] = { '-', *letter, '\0' };
        enum srun_value value = srun_help_find (p->help, option);

        p->words->quiet = p->words->quiet || *letter == 'Q';
        if (value == SRUN_VALUE_UNKNOWN)
            value = p->ask (option, p->arg);
        if (value == SRUN_VALUE_BEHIND || (value == SRUN_VALUE_NEEDED && letter[1]))
            return SRUN_VALUE_NONE;
        if (value != SRUN_VALUE_NONE)
            return value;
    }
    return SRUN_VALUE_NONE;
}

/* From argv[i] to the program, or to ":", or to the end. Returns where that is; -1 and err. */
static int _take_options (const struct parser *p, int argc, char *argv[], int i, struct errtext *err)
{
    while (i < argc && argv[i][0] == '-' && argv[i][1]) {
        int ours = srun_words_take_option (p->words, argc, argv, i, err);
        enum srun_value value;

        if (ours < 0)
            return -1;
        if (ours > 0) {
            i += ours;
            continue;
        }
        if (strcmp (argv[i], "--") == 0) {
            _add (p->words, argv[i], SRUN_WORD_OPTION);
            return i + 1;
        }
        value = argv[i][1] == '-' ? _long (p, argv[i]) : _letters (p, argv[i]);
        _add_option (p->words, argv[i++]);
        if (value == SRUN_VALUE_NEEDED && i < argc)
            _add_option (p->words, argv[i++]);
    }
    return i;
}

int srun_words_parse (struct srun_words *words, int argc, char *argv[], const struct srun_help *help,
                      srun_words_ask *ask, void *arg, struct errtext *err)
{
    const struct parser parser = { words, help, ask, arg };
    int i = 0;

    words->components = 0;
    words->line.text = calloc ((size_t)argc + 1, sizeof (*words->line.text));
    words->srun_options.text = calloc ((size_t)argc + 1, sizeof (*words->srun_options.text));
    words->kind = calloc ((size_t)argc + 1, sizeof (*words->kind));
    if (!words->line.text || !words->srun_options.text || !words->kind)
        return errtext_set (err, "%s", strerror (ENOMEM));
    do {
        _add (words, argv[i++], SRUN_WORD_BEGIN);
        if ((i = _take_options (&parser, argc, argv, i, err)) < 0)
            return -1;
        words->components++;
        words->programs += i < argc && strcmp (argv[i], ":") != 0;
        while (i < argc && strcmp (argv[i], ":") != 0)
            _add (words, argv[i++], SRUN_WORD_PROGRAM);
    } while (i < argc);
    return 0;
}

void srun_words_clear (struct srun_words *words)
{
    free (words->line.text);
    free (words->srun_options.text);
    free (words->kind);
    free (words->option);
}

/* The command line again. */

/* Where the first program at or behind this word begins; the number of words if there is none. */
static size_t _next_program (const struct srun_words *words, size_t i)
{
    while (i < words->line.count && words->kind[i] != SRUN_WORD_PROGRAM)
        i++;
    return i;
}

static size_t _add_program (char **to, const struct srun_words *words, size_t from)
{
    size_t count = 0;

    for (; from < words->line.count && words->kind[from] == SRUN_WORD_PROGRAM; from++)
        to[count++] = words->line.text[from];
    return count;
}

char **srun_words_with (const struct srun_words *words, const char *first, const char *numbered)
{
    const struct cmdline *line = &words->line;
    /* No component gets more than all words, and these two. */
    char **all = calloc (words->components * (line->count + 2) + 1, sizeof (*all));
    size_t used = 0, component = 0;

    for (size_t i = 0; all && i < line->count; component++) {
        size_t program;
        char *text;

        do
            all[used++] = line->text[i++];
        while (i < line->count && words->kind[i] == SRUN_WORD_OPTION);
        program = _next_program (words, i);
        if (program == line->count)
            continue;
        if (asprintf (&text, "%s%zu", numbered, component) < 0) {
            free (all);
            return NULL;
        }
        all[used++] = (char *)(uintptr_t)first;
        all[used++] = text;
        used += _add_program (all + used, words, program);
        while (i < line->count && words->kind[i] == SRUN_WORD_PROGRAM)
            i++;
    }
    return all;
}
