/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a message that a process of the user has sent to a task's supervisor.
 */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include "supervise/notify_message.h"

static bool _has_line (const uint8_t *data, size_t size, const char *line)
{
    const size_t length = strlen (line);

    for (size_t i = 0; i + length <= size; i++)
        if (memcmp (data + i, line, length) == 0 && (i == 0 || data[i - 1] == '\n')
            && (i + length == size || data[i + length] == '\n'))
            return true;
    return false;
}

FUZZ_TARGET (notify_message)
{
    struct notify_message message, again;
    char text[256];

    notify_message_parse (&message, (const char *)data, size);
    CHECK (message.alive == _has_line (data, size, "WATCHDOG=1"));
    CHECK (message.stopping == _has_line (data, size, "STOPPING=1"));
    CHECK (strlen (message.status) <= SIGNS_MAX_STATUS);
    CHECK (!message.status[0] || (message.has_status && fuzz_is_line (message.status)));
    snprintf (text, sizeof (text), "%s%s%s%s", message.alive ? "WATCHDOG=1\n" : "",
              message.stopping ? "STOPPING=1\n" : "", message.has_status ? "STATUS=" : "", message.status);
    notify_message_parse (&again, text, strlen (text));
    CHECK (again.alive == message.alive && again.stopping == message.stopping
           && again.has_status == message.has_status && strcmp (again.status, message.status) == 0);
}
