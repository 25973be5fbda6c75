/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the tests of protocol messages share: printing a frame, and changing one of its keys.
 */
#ifndef TF_MESSAGES_H
#define TF_MESSAGES_H

#include "unit.h"

#include "protocol/frame.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define SERVER_TOKEN "fedcba9876543210fedcba9876543210"

/* All strings of a frame, each followed by a newline. Destroys the frame. */
static inline char *message_text (struct frame *frame)
{
    static char text[4096];
    size_t used = 0;

    assert_non_null (frame);
    text[0] = '\0';
    for (const char *s = frame_next (frame, NULL); s; s = frame_next (frame, s)) {
        assert_true (used + strlen (s) + 2 <= sizeof (text));
        used = (size_t)(stpcpy (stpcpy (text + used, s), "\n") - text);
    }
    frame_destroy (frame);
    return text;
}

/* The same in one line, with blanks between the strings. */
static inline const char *message_line (struct frame *frame)
{
    char *text = message_text (frame);

    for (char *p = text; (p = strchr (p, '\n'));)
        *p = p[1] ? ' ' : '\0';
    return text;
}

/*
 * A frame of these lines, KEY=VALUE, with another value of `key`, or without it if `value` is NULL. A key
 * that they lack comes last; NULL for none.
 */
static inline struct frame *message_with (const char *lines, const char *key, const char *value)
{
    struct frame *frame = frame_create ();
    char copy[4096], *rest = copy, *line;

    assert_true (snprintf (copy, sizeof (copy), "%s", lines) < (int)sizeof (copy));
    while ((line = strsep (&rest, "\n")) && *line) {
        char *text = strchr (line, '=');
        bool other;

        *text++ = '\0';
        other = key && strcmp (line, key) == 0;
        if (!other || value)
            frame_add (frame, line, "%s", other ? value : text);
        key = other ? NULL : key;
    }
    if (key && value)
        frame_add (frame, key, "%s", value);
    return frame;
}

#endif
