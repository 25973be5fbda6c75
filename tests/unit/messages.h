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

struct message_string {
    const char *key, *value;
};

/* All strings of a frame, each followed by a newline. Destroys the frame. */
static inline const char *message_text (struct frame *frame)
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

/*
 * A frame of these strings, with the value of `key` replaced, or the key left out if `value` is
 * NULL. A key that is not among the strings is added at the end.
 */
static inline struct frame *message_with (const struct message_string *strings, size_t count, const char *key,
                                          const char *value)
{
    struct frame *frame = frame_create ();
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        bool changed = strcmp (strings[i].key, key) == 0;
        const char *text = changed ? value : strings[i].value;

        found = found || changed;
        if (text)
            frame_add (frame, strings[i].key, "%s", text);
    }
    if (!found && value)
        frame_add (frame, key, "%s", value);
    return frame;
}

#endif
