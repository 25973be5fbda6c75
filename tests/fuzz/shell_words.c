/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a command line.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "exec/shell_words.h"

static size_t _length (const struct shell_words *words)
{
    size_t length = 0;

    for (size_t i = 0; i < words->count; i++)
        length += strlen (words->word[i]);
    return length;
}

/* The words as a command line in which all of them are quoted, to be freed. */
static char *_quote (const struct shell_words *words)
{
    size_t length = 1;
    char *text, *end;

    for (size_t i = 0; i < words->count; i++)
        length += 4 * strlen (words->word[i]) + 3;
    fuzz_allow (SIZE_MAX);
    CHECK (text = end = malloc (length));
    for (size_t i = 0; i < words->count; i++) {
        *end++ = '\'';
        for (const char *p = words->word[i]; *p; p++)
            if (*p == '\'')
                end = stpcpy (end, "'\\''");
            else
                *end++ = *p;
        end = stpcpy (end, "' ");
    }
    *end = '\0';
    return text;
}

static void _check_round_trip (const struct shell_words *words)
{
    struct shell_words again = { 0 };
    char *text = _quote (words);
    struct errtext err;

    CHECK (fuzz_succeeded (shell_words_split (&again, text, &err), &err));
    CHECK (again.count == words->count);
    for (size_t i = 0; i < words->count; i++)
        CHECK (strcmp (again.word[i], words->word[i]) == 0);
    shell_words_clear (&again);
    free (text);
}

FUZZ_TARGET (shell_words)
{
    char *text = fuzz_text (data, size);
    struct shell_words words = { 0 };
    struct errtext err;

    if (fuzz_succeeded (shell_words_split (&words, text, &err), &err)) {
        CHECK (_length (&words) <= strlen (text));
        _check_round_trip (&words);
    }
    CHECK (!words.word || !words.word[words.count]);
    shell_words_clear (&words);
    CHECK (!words.word && words.count == 0);
    free (text);
}
