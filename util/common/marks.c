/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "marks.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* FNV-1a: values that differ by chance have different numbers; making equal ones gains nothing. */
static uint32_t _hash (const char *value)
{
    uint32_t number = 2166136261;

    for (; *value; value++)
        number = (number ^ (uint8_t)*value) * 16777619;
    return number;
}

int marks_add (char *marks, size_t size, const char *name, const char *value)
{
    size_t used = strlen (marks);
    int length =
        snprintf (marks + used, size - used, "%s%s:%08" PRIx32, used ? "," : "", name, _hash (value));

    if (length >= 0 && (size_t)length < size - used)
        return 0;
    marks[used] = '\0';
    return -1;
}

enum marks_found marks_find (const char *marks, const char *name, size_t length, const char *value)
{
    enum marks_found found = MARKS_NOT_FOUND;
    char number[16];

    snprintf (number, sizeof (number), ":%08" PRIx32, _hash (value));
    for (; *marks && found != MARKS_SAME; marks += strcspn (marks, ","), marks += *marks == ',')
        if (strcspn (marks, ":,") == length && strncmp (marks, name, length) == 0)
            found = strcspn (marks + length, ",") == strlen (number)
                            && strncmp (marks + length, number, strlen (number)) == 0
                        ? MARKS_SAME
                        : MARKS_OTHER;
    return found;
}
