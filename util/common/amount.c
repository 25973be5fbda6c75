/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "amount.h"

#include <inttypes.h>
#include <stdio.h>

const char *amount_duration (int64_t ms, struct amount_text *room)
{
    int64_t s = (ms + 500) / 1000, minutes = (s + 30) / 60;

    if (s < 60)
        snprintf (room->text, sizeof (room->text), "%" PRId64 " s", s);
    else if (s < 600)
        snprintf (room->text, sizeof (room->text), "%" PRId64 " m %02" PRId64 " s", s / 60, s % 60);
    else if (minutes < 60)
        snprintf (room->text, sizeof (room->text), "%" PRId64 " m", minutes);
    else
        snprintf (room->text, sizeof (room->text), "%" PRId64 " h %02" PRId64 " m", minutes / 60,
                  minutes % 60);
    return room->text;
}

const char *amount_number (int64_t number, struct amount_text *room)
{
    char digits[24];
    size_t length, at = 0;

    length = (size_t)snprintf (digits, sizeof (digits), "%" PRId64, number);
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            room->text[at++] = ',';
        room->text[at++] = digits[i];
    }
    room->text[at] = '\0';
    return room->text;
}
