/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "errtext.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "printable.h"

int errtext_set (struct errtext *err, const char *fmt, ...)
{
    va_list ap;

    if (err) {
        va_start (ap, fmt);
        vsnprintf (err->text, sizeof (err->text), fmt, ap);
        va_end (ap);
        printable_make_line (err->text);
    }
    return -1;
}

const char *text_quoted (struct quoted *room, const char *text, size_t len)
{
    const size_t size = sizeof (room->text);
    size_t used = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (used + sizeof ("\\xNN...") > size) {
            memcpy (room->text + used, "...", 3);
            used += 3;
            break;
        }
        if (c >= 0x20 && c < 0x7f)
            room->text[used++] = (char)c;
        else
            used += (size_t)snprintf (room->text + used, size - used, "\\x%02x", c);
    }
    room->text[used] = '\0';
    return room->text;
}
