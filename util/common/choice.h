/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Values that are words of a list. Each list has its words once, in the order in which users read
 * them; what they mean does not depend on that order.
 */
#ifndef TF_CHOICE_H
#define TF_CHOICE_H

#include <stddef.h>

#include "errtext.h"

struct choice {
    const char *word;       /* NULL ends a list */
    int meaning;            /* >= 0: a constant of the list's enum, or a bit */
};

/* What users write for yes and no, which is 0, in an option of which these are words. */
extern const struct choice choice_switch[];

/* The entry whose word is these `length` characters, or NULL. */
const struct choice *choice_find (const struct choice *list, const char *text, size_t length);

/* What a text means that is one of the words; -1, and err with all words and a similar one, if it is none. */
int choice_parse (const struct choice *list, const char *text, struct errtext *err);

/* The word for a meaning, which the list has. */
const char *choice_word (const struct choice *list, int meaning);

/* Append "; did you mean "chief"?" to err, if a word is similar to these `length` characters. Returns -1. */
int choice_suggest (const struct choice *list, const char *text, size_t length, struct errtext *err);

/* A buffer for the words of a list. */
struct choice_words {
    char text[128];
};

/* "auto, chief, workers and never" if the separators are ", " and " and ". Returns room->text. */
const char *choice_join (const struct choice *list, const char *separator, const char *last,
                         struct choice_words *room);

#endif
