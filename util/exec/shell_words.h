/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A list of words, in the form of an argv, and a command line split into words as a shell does it:
 *
 *     '...'       all characters up to the next ' are taken literally
 *     "..."       the same up to the next ", except that \ quotes $ ` " \ and a newline
 *     \c          c is taken literally; a \ at the end of a line continues the line
 *
 * Blanks, tabs and newlines separate words. No shell is involved: $ ` * ? ~ # ; | & < > are
 * ordinary characters.
 */
#ifndef TF_SHELL_WORDS_H
#define TF_SHELL_WORDS_H

#include <stddef.h>

#include "common/errtext.h"

/* Zero it, use it, clear it. */
struct shell_words {
    char **word;        /* NULL if no word was ever added; otherwise word[count] is NULL */
    size_t count;
    size_t room;        /* elements of word[] */
};

/* Append a copy of a word. -1 and err if there is no memory. */
int shell_words_add (struct shell_words *words, const char *text, struct errtext *err);

/*
 * Append the words of a command line, if there are any. -1 and err, which names the place, if a
 * quote is not closed or the text ends in a \; the words before that have been appended.
 */
int shell_words_split (struct shell_words *words, const char *text, struct errtext *err);

/* Free all words and zero the struct. errno is kept. */
void shell_words_clear (struct shell_words *words);

#endif
