/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "failure_text.h"

#include <string.h>

static const char *const key[] = {
    [FAILURE_TEXT_LOG] = "LAST_LINE",
    [FAILURE_TEXT_ERROR_FILE] = "ERROR_MESSAGE",
};

/* The bytes of a character of UTF-8 behind its first one are left out. */
static bool _is_continuation (unsigned char c)
{
    return c >= 0x80 && c < 0xc0;
}

static char _printable (unsigned char c)
{
    if (c < 0x20 || c == 0x7f)
        return ' ';
    return (char)(c < 0x7f ? c : '?');
}

void failure_text_set (struct failure_text *text, enum failure_text_source source, const char *line,
                       size_t length)
{
    size_t used = 0;

    while (length > 0 && _printable ((unsigned char)line[length - 1]) == ' ')
        length--;
    for (size_t i = 0; i < length && used <= FAILURE_TEXT_MAX; i++) {
        unsigned char c = (unsigned char)line[i];

        if (!_is_continuation (c) && (used > 0 || _printable (c) != ' '))
            text->text[used++] = _printable (c);
    }
    while (used > 0 && used <= FAILURE_TEXT_MAX && text->text[used - 1] == ' ')
        used--;
    if (used > FAILURE_TEXT_MAX) {
        used = FAILURE_TEXT_MAX;
        memcpy (text->text + used - 3, "...", 3);
    }
    text->text[used] = '\0';
    text->source = used > 0 ? source : FAILURE_TEXT_NONE;
}

void failure_text_add (struct frame *frame, const struct failure_text *text)
{
    if (text->source != FAILURE_TEXT_NONE)
        frame_add (frame, key[text->source], "%s", text->text);
}

void failure_text_decode (struct failure_text *text, const struct frame *frame)
{
    *text = (struct failure_text){ .source = FAILURE_TEXT_NONE };
    for (int i = FAILURE_TEXT_LOG; i <= FAILURE_TEXT_ERROR_FILE; i++) {
        const char *line = frame_get (frame, key[i]);

        if (!line)
            continue;
        failure_text_set (text, (enum failure_text_source)i, line, strlen (line));
        if (strcmp (text->text, line) != 0)
            *text = (struct failure_text){ .source = FAILURE_TEXT_NONE };
    }
}
