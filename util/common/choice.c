/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "choice.h"

#include <stdio.h>
#include <string.h>

#include "nearest.h"

const struct choice choice_switch[] = { { "yes", 1 }, { "1", 1 },     { "true", 1 }, { "on", 1 }, { "no", 0 },
                                        { "0", 0 },   { "false", 0 }, { "off", 0 },  { NULL, 0 } };

const struct choice *choice_find (const struct choice *list, const char *text, size_t length)
{
    for (; list->word; list++)
        if (strlen (list->word) == length && strncmp (list->word, text, length) == 0)
            return list;
    return NULL;
}

int choice_suggest (const struct choice *list, const char *text, size_t length, struct errtext *err)
{
    char word[NEAREST_MAX + 1];
    struct nearest nearest;
    size_t used;

    if (!err || length >= sizeof (word))
        return -1;
    snprintf (word, sizeof (word), "%.*s", (int)length, text);
    nearest_begin (&nearest, word);
    for (; list->word; list++)
        nearest_try (&nearest, list->word, strlen (list->word));
    used = strlen (err->text);
    if (nearest.word[0])
        snprintf (err->text + used, sizeof (err->text) - used, "; did you mean \"%s\"?", nearest.word);
    return -1;
}

int choice_parse (const struct choice *list, const char *text, struct errtext *err)
{
    const struct choice *found = choice_find (list, text, strlen (text));
    struct choice_words room;
    struct quoted q;

    if (found)
        return found->meaning;
    text_quoted (&q, text, strlen (text));
    if (list[1].word && !list[2].word)
        return errtext_set (err, "\"%s\" is neither %s nor %s", q.text, list[0].word, list[1].word);
    errtext_set (err, "\"%s\" is not one of %s", q.text, choice_join (list, ", ", ", ", &room));
    return choice_suggest (list, text, strlen (text), err);
}

const char *choice_word (const struct choice *list, int meaning)
{
    while (list->word && list->meaning != meaning)
        list++;
    return list->word;
}

const char *choice_join (const struct choice *list, const char *separator, const char *last,
                         struct choice_words *room)
{
    size_t used = 0;

    room->text[0] = '\0';
    for (const struct choice *choice = list; choice->word && used < sizeof (room->text); choice++)
        used += (size_t)snprintf (room->text + used, sizeof (room->text) - used, "%s%s",
                                  choice == list   ? ""
                                  : choice[1].word ? separator
                                                   : last,
                                  choice->word);
    return room->text;
}
