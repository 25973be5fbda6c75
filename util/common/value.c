/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "value.h"

#include <stdint.h>
#include <string.h>

#include "number.h"

/* Parse one to three numbers with colons between them; *value is in units of the last. -1, or how many. */
static int _scan_clock (const char **text, int64_t *value)
{
    int count = 0;

    *value = 0;
    do {
        int number = number_scan (text, VALUE_MAX_SECONDS);

        if (number < 0 || ++count > 3)
            return -1;
        *value = *value * 60 + number;
    } while (**text == ':' && (*text)++);
    return count;
}

int value_seconds_parse (int *seconds, const char *value, int low, int high)
{
    static const char units[] = "smhd";
    static const int length[] = { 1, 60, 3600, 86400 };
    const char *unit;
    int64_t sum, days;
    int count = _scan_clock (&value, &sum);

    if (count == 1 && *value == '-') {
        days = sum;
        value++;
        count = _scan_clock (&value, &sum);
        for (int i = count; i < 3; i++)
            sum *= 60;
        sum += days * 86400;
    } else if (count == 1 && *value && (unit = strchr (units, *value))) {
        sum *= length[unit - units];
        value++;
    }
    if (count < 0 || *value || sum < low || sum > high)
        return -1;
    *seconds = (int)sum;
    return 0;
}

int value_restart_parse (int *times, bool *any, int *total, const char *value)
{
    static const char prefix[] = VALUE_RESTART_TOTAL;
    char text[64], *rest = text, *word;

    *any = false;
    *total = -1;
    if (strlen (value) >= sizeof (text))
        return -1;
    strcpy (text, value);
    if (number_parse (times, strsep (&rest, ","), 0, VALUE_MAX_RESTARTS) < 0)
        return -1;
    while ((word = strsep (&rest, ",")))
        if (!*any && strcmp (word, VALUE_RESTART_ANY) == 0)
            *any = true;
        else if (*total >= 0 || strncmp (word, prefix, sizeof (prefix) - 1) != 0
                 || number_parse (total, word + sizeof (prefix) - 1, *times, VALUE_MAX_TOTAL) < 0)
            return -1;
    if (*total < 0)
        *total = VALUE_RESTARTS_IN_ALL * *times;
    return 0;
}

int value_watchdog_parse (int *seconds, int *first, bool *learns, const char *value)
{
    size_t length = strcspn (value, ",");
    char text[32];

    if (length >= sizeof (text))
        return -1;
    memcpy (text, value, length);
    text[length] = '\0';
    *learns = strcmp (text, VALUE_WATCHDOG_AUTO) == 0;
    *seconds = VALUE_WATCHDOG_LEAST;
    if (!*learns && value_seconds_parse (seconds, text, 0, VALUE_MAX_SECONDS) < 0)
        return -1;
    *first = *seconds > VALUE_WATCHDOG_FIRST ? *seconds : VALUE_WATCHDOG_FIRST;
    if (value[length])
        return *seconds > 0 ? value_seconds_parse (first, value + length + 1, 1, VALUE_MAX_SECONDS) : -1;
    if (*seconds == 0)
        *first = 0;
    return 0;
}
