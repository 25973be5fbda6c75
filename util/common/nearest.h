/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which of several words was probably meant. It is suggested only if half of its letters are right.
 */
#ifndef TF_NEAREST_H
#define TF_NEAREST_H

#include <stddef.h>

/* Longer words and texts are not compared. */
#define NEAREST_MAX 63

struct nearest {
    const char *text;
    int distance;
    char word[NEAREST_MAX + 1];     /* "" if none is similar */
};

/* Of this text, which must live as long. */
void nearest_begin (struct nearest *nearest, const char *text);

/* Compare it with a word of lower-case letters, which has this length. */
void nearest_try (struct nearest *nearest, const char *word, size_t length);

#endif
