/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The text of an error. The caller owns it and decides whether, where and how often
 * it is shown; a function that fails fills it in and returns -1.
 */
#ifndef TF_ERRTEXT_H
#define TF_ERRTEXT_H

#include <stddef.h>

struct errtext {
    char text[1024];    /* one line without a newline, cut at the end if need be */
};

/* Set the text. Always -1, so that a caller can `return errtext_set (…)`. NULL is fine. */
int errtext_set (struct errtext *err, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Room for `text_quoted ()`'s result. */
struct quoted {
    char text[96];
};

/*
 * The first `len` bytes of `text`, which a user wrote, in a form that is safe on every
 * terminal and in every log: anything but printable ASCII as \xNN, cut with "..." where it
 * is long. The result lives in *room.
 */
const char *text_quoted (struct quoted *room, const char *text, size_t len);

#endif
