/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "notify_message.h"

#include <string.h>

#include "common/printable.h"

static bool _is (const char *line, size_t length, const char *text)
{
    return length == strlen (text) && memcmp (line, text, length) == 0;
}

void notify_message_parse (struct notify_message *message, const char *bytes, size_t length)
{
    static const char status[] = "STATUS=";
    const size_t prefix = sizeof (status) - 1;

    *message = (struct notify_message){ .alive = false };
    while (length > 0) {
        const char *newline = memchr (bytes, '\n', length);
        size_t line = newline ? (size_t)(newline - bytes) : length;

        if (_is (bytes, line, "WATCHDOG=1"))
            message->alive = true;
        else if (_is (bytes, line, "STOPPING=1"))
            message->stopping = true;
        else if (line >= prefix && memcmp (bytes, status, prefix) == 0) {
            message->has_status = true;
            printable_line (message->status, sizeof (message->status), bytes + prefix, line - prefix);
        }
        line += newline != NULL;
        bytes += line;
        length -= line;
    }
}
