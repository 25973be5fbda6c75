/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "shell_words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\n"

/* Make room for one more word and the NULL. */
static int _grow (struct shell_words *words)
{
    size_t room = words->room ? words->room * 2 : 16;
    char **word;

    if (words->count + 1 < words->room)
        return 0;
    if (!(word = realloc (words->word, room * sizeof (*word))))
        return -1;
    words->word = word;
    words->room = room;
    return 0;
}

int shell_words_add (struct shell_words *words, const char *text, struct errtext *err)
{
    char *copy;

    if (_grow (words) < 0 || !(copy = strdup (text)))
        return errtext_set (err, "%s", strerror (ENOMEM));
    words->word[words->count++] = copy;
    /* gcc -fanalyzer is wrong: the list keeps the copy. */
    words->word[words->count] = NULL;
    return 0;
}

void shell_words_clear (struct shell_words *words)
{
    int saved = errno;

    for (size_t i = 0; i < words->count; i++)
        free (words->word[i]);
    free (words->word);
    *words = (struct shell_words){ 0 };
    errno = saved;
}

/* A command line, the position in it, and the word that is being read. */
struct reader {
    const char *text;
    const char *next;
    char *word;
    size_t length;
    struct errtext *err;
};

static void _take (struct reader *reader, char c)
{
    reader->word[reader->length++] = c;
}

/* Fail with what is wrong and where: "unclosed ' at character 8: 'ps.py --lr 0.1". */
static int _fail (const struct reader *reader, const char *what, const char *place)
{
    struct quoted q;

    return errtext_set (reader->err, "%s at character %zu: %s", what, (size_t)(place - reader->text) + 1,
                        text_quoted (&q, place, strlen (place)));
}

/* reader->next is behind a \. */
static int _read_escaped (struct reader *reader)
{
    char c = *reader->next;

    if (!c)
        return _fail (reader, "nothing follows the \\", reader->next - 1);
    if (c != '\n')
        _take (reader, c);
    reader->next++;
    return 0;
}

/* reader->next is behind a ". */
static int _read_double (struct reader *reader)
{
    const char *opening = reader->next - 1;

    for (char c; (c = *reader->next++) != '"';) {
        if (!c)
            return _fail (reader, "unclosed \"", opening);
        if (c == '\\' && *reader->next && strchr ("$`\"\\\n", *reader->next)) {
            if (_read_escaped (reader) < 0)
                return -1;
        } else
            _take (reader, c);
    }
    return 0;
}

/* reader->next is behind a '. */
static int _read_single (struct reader *reader)
{
    const char *opening = reader->next - 1;

    for (char c; (c = *reader->next++) != '\'';) {
        if (!c)
            return _fail (reader, "unclosed '", opening);
        _take (reader, c);
    }
    return 0;
}

/* Read the next word into reader->word. Returns 1; 0 if there is none; -1 and reader->err. */
static int _read_word (struct reader *reader)
{
    bool any = false;
    int rc = 0;

    reader->length = 0;
    while (*reader->next && (!any || !strchr (BLANKS, *reader->next))) {
        char c = *reader->next++;

        if (strchr (BLANKS, c) || (c == '\\' && *reader->next == '\n' && reader->next++))
            continue;
        any = true;
        if (c == '\\')
            rc = _read_escaped (reader);
        else if (c == '"')
            rc = _read_double (reader);
        else if (c == '\'')
            rc = _read_single (reader);
        else
            _take (reader, c);
        if (rc < 0)
            return -1;
    }
    _take (reader, '\0');
    return any;
}

int shell_words_split (struct shell_words *words, const char *text, struct errtext *err)
{
    struct reader reader = { .text = text, .next = text, .err = err };
    int rc;

    /* A word is never longer than the text. */
    if (!(reader.word = malloc (strlen (text) + 1)))
        return errtext_set (err, "%s", strerror (ENOMEM));
    while ((rc = _read_word (&reader)) > 0 && (rc = shell_words_add (words, reader.word, err)) == 0)
        ;
    free (reader.word);
    return rc;
}
