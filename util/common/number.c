/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "number.h"

#include <stdbool.h>

static bool _is_digit (char c)
{
    return c >= '0' && c <= '9';
}

/* Ignores the value of further digits once it is above `high`, so it cannot overflow. */
static int64_t _scan (const char **text, int64_t high)
{
    const char *p = *text;
    int64_t number = 0;

    for (; _is_digit (*p); p++)
        if (number <= high)
            number = number * 10 + (*p - '0');
    if (p == *text)
        return -1;
    *text = p;
    return number;
}

int number_parse (int *number, const char *text, int low, int high)
{
    int64_t parsed;

    if (!text)
        return -1;
    parsed = _scan (&text, high);
    if (parsed < low || parsed > high || *text != '\0')
        return -1;
    *number = (int)parsed;
    return 0;
}

int number_parse_id (uint32_t *id, const char *text)
{
    int64_t parsed = text ? _scan (&text, UINT32_MAX) : -1;

    if (parsed < 0 || parsed > UINT32_MAX || *text != '\0')
        return -1;
    *id = (uint32_t)parsed;
    return 0;
}

int number_scan (const char **text, int high)
{
    int64_t number = _scan (text, high);

    return number > high ? high + 1 : (int)number;
}
