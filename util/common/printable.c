/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "printable.h"

#include <stdbool.h>
#include <string.h>

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

size_t printable_line (char *buf, size_t size, const char *line, size_t length)
{
    const size_t most = size - 1;
    size_t used = 0;
    bool cut = false;

    while (length > 0 && _printable ((unsigned char)line[length - 1]) == ' ')
        length--;
    for (size_t i = 0; i < length && !cut; i++) {
        unsigned char c = (unsigned char)line[i];

        if (_is_continuation (c) || (used == 0 && _printable (c) == ' '))
            continue;
        cut = used == most;
        if (!cut)
            buf[used++] = _printable (c);
    }
    if (cut)
        memcpy (buf + used - 3, "...", 3);
    while (!cut && used > 0 && buf[used - 1] == ' ')
        used--;
    buf[used] = '\0';
    return used;
}
