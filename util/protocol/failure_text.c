/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "failure_text.h"

#include <string.h>

#include "common/printable.h"

static const char *const key[] = {
    [FAILURE_TEXT_LOG] = "LAST_LINE",
    [FAILURE_TEXT_ERROR_FILE] = "ERROR_MESSAGE",
    [FAILURE_TEXT_STACK] = "STACK",
};

void failure_text_set (struct failure_text *text, enum failure_text_source source, const char *line,
                       size_t length)
{
    size_t used = printable_line (text->text, sizeof (text->text), line, length);

    text->source = used > 0 ? source : FAILURE_TEXT_NONE;
}

void failure_text_add (struct frame *frame, const struct failure_text *text)
{
    if (text->source == FAILURE_TEXT_NONE)
        return;
    frame_add (frame, key[text->source], "%s", text->text);
    cause_add (frame, &text->cause);
}

void failure_text_decode (struct failure_text *text, const struct frame *frame)
{
    *text = (struct failure_text){ .source = FAILURE_TEXT_NONE };
    for (int i = FAILURE_TEXT_LOG; i < FAILURE_TEXT_SOURCES; i++) {
        const char *line = frame_get (frame, key[i]);

        if (!line)
            continue;
        failure_text_set (text, (enum failure_text_source)i, line, strlen (line));
        if (strcmp (text->text, line) != 0)
            *text = (struct failure_text){ .source = FAILURE_TEXT_NONE };
    }
    if (text->source != FAILURE_TEXT_NONE)
        cause_decode (&text->cause, frame);
}
