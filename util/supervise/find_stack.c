/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "find_stack.h"

#include <string.h>

#include "common/python_stack.h"

static int _count_dumps (const char *bytes, size_t length)
{
    static const char begin[] = "Fatal Python error: ";
    const char *end = bytes + length;
    int dumps = 0;

    for (const char *line = bytes; line && (size_t)(end - line) >= sizeof (begin) - 1;) {
        dumps += memcmp (line, begin, sizeof (begin) - 1) == 0;
        line = memchr (line, '\n', (size_t)(end - line));
        line = line ? line + 1 : NULL;
    }
    return dumps;
}

void find_stack (struct failure_text *text, const char *bytes, size_t length)
{
    char found[1100];

    text->source = FAILURE_TEXT_NONE;
    if (length > 0 && _count_dumps (bytes, length) == 1
        && python_stack_find (found, sizeof (found), bytes, length))
        failure_text_set (text, FAILURE_TEXT_STACK, found, strlen (found));
}
