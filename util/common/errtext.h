/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The text of an error. The caller owns it and decides whether and where to print it. A function
 * that fails fills it in and returns -1.
 */
#ifndef TF_ERRTEXT_H
#define TF_ERRTEXT_H

#include <stddef.h>

struct errtext {
    char text[1024];    /* one line without a newline, made printable (printable.h); a longer text is cut */
};

/* Set the text. Returns -1, so that a caller can `return errtext_set (…)`. NULL is fine. */
int errtext_set (struct errtext *err, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));

/* A buffer for text_quoted (). */
struct quoted {
    char text[96];
};

/*
 * Make `len` bytes of text from a user safe to print on a terminal and in a log: bytes that are
 * not printable ASCII become \xNN, and a long text is cut and ends in "...". Returns room->text.
 */
const char *text_quoted (struct quoted *room, const char *text, size_t len);

#endif
