/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The number of edits (insert, delete, replace, swap neighbours) from a to b, ignoring case. */
static int _distance (const char *a, const char *b)
{
    int row[3][NEAREST_MAX + 1];
    int la = (int)strlen (a), lb = (int)strlen (b);

    for (int j = 0; j <= lb; j++)
        row[0][j] = j;
    for (int i = 1; i <= la; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        int ca = tolower ((unsigned char)a[i - 1]);

        now[0] = i;
        for (int j = 1; j <= lb; j++) {
            int best = before[j - 1] + (ca != b[j - 1]);

            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && ca == b[j - 2] && tolower ((unsigned char)a[i - 2]) == b[j - 1]
                && earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[la % 3][lb];
}

void nearest_begin (struct nearest *nearest, const char *text)
{
    *nearest = (struct nearest){ .text = text, .distance = (int)strnlen (text, NEAREST_MAX) / 2 + 1 };
}

void nearest_try (struct nearest *nearest, const char *word, size_t length)
{
    char lower[NEAREST_MAX + 1];
    int distance;

    if (length > NEAREST_MAX || strnlen (nearest->text, NEAREST_MAX + 1) > NEAREST_MAX)
        return;
    snprintf (lower, sizeof (lower), "%.*s", (int)length, word);
    distance = _distance (nearest->text, lower);
    if (distance < nearest->distance && distance <= (int)length / 2) {
        nearest->distance = distance;
        memcpy (nearest->word, lower, sizeof (lower));
    }
}
