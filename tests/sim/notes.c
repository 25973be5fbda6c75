/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a spectator writes down, and the hash of it.
 */
#include "config.h"

#include "inside.h"

#include <stdarg.h>
#include <stdio.h>

void notes_hash (int64_t value)
{
    for (int i = 0; i < 8; i++)
        w.history->hash = (w.history->hash ^ (uint8_t)(value >> 8 * i)) * UINT64_C (0x100000001b3);
}

struct note *notes_add (enum note_kind kind, int rank, int number)
{
    static struct note none;
    struct note *note = &none;

    if (w.history->notes == MOST_NOTES)
        w.overflow = true;
    else
        note = &w.history->note[w.history->notes++];
    *note = (struct note){ .at = w.now, .kind = kind, .rank = rank, .number = number, .place = -1 };
    notes_hash (w.now);
    notes_hash (kind * 1000003 + rank * 1009 + number);
    return note;
}

void __attribute__ ((format (printf, 1, 2))) notes_say (const char *fmt, ...)
{
    va_list ap;

    if (!w.print)
        return;
    printf ("%10.3f  ", (double)w.now / 1000);
    va_start (ap, fmt);
    vprintf (fmt, ap);
    va_end (ap);
    printf ("\n");
}
