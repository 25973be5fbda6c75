/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "notify_message.h"

#include <ctype.h>
#include <string.h>

#include "common/number.h"
#include "common/printable.h"

static bool _is (const char *line, size_t length, const char *text)
{
    return length == strlen (text) && memcmp (line, text, length) == 0;
}

/* "step 1200", "Step: 1200/5000", "epoch 3, step=1200". 0: there is none. */
static int _number_after (const char *text, const char *word)
{
    const char *at = strcasestr (text, word);
    char digits[16] = "";
    int number;

    for (; at; at = strcasestr (at + 1, word)) {
        const char *value = at + strlen (word) + strspn (at + strlen (word), " \t:=#");
        size_t length = strspn (value, "0123456789");

        if ((at > text && isalnum ((unsigned char)at[-1])) || length == 0 || length >= sizeof (digits))
            continue;
        memcpy (digits, value, length);
        digits[length] = '\0';
        if (number_parse (&number, digits, 0, SIGNS_MAX_STEP) == 0)
            return number;
    }
    return 0;
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
            message->step = _number_after (message->status, "step");
            if (message->step == 0)
                message->step = _number_after (message->status, "epoch");
        }
        line += newline != NULL;
        bytes += line;
        length -= line;
    }
}
