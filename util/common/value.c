/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "value.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frameworks.h"
#include "number.h"
#include "option_table.h"
#include "pattern.h"
#include "port.h"
#include "rules.h"
#include "tasklist.h"

/* What a message says behind the least and the longest time. */
#define TIME_EXAMPLES "seconds, as in 300, 5m or 5:00"

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

static int _check_seconds (const char *value, int low, struct errtext *err)
{
    struct quoted q;
    int seconds;

    if (value_seconds_parse (&seconds, value, low, VALUE_MAX_SECONDS) == 0)
        return 0;
    return errtext_set (err, "\"%s\" is not a time from %d to %d " TIME_EXAMPLES,
                        text_quoted (&q, value, strlen (value)), low, VALUE_MAX_SECONDS);
}

int value_list (const char *value, struct errtext *err)
{
    struct tasklist *list;

    if (strcmp (value, LIST_NONE) == 0)
        return 0;
    if (tasklist_parse (&list, value, err) < 0)
        return -1;
    tasklist_destroy (list);
    return 0;
}

int value_ports (const char *value, struct errtext *err)
{
    return strcmp (value, VALUE_PORTS_RESERVED) == 0 ? 0 : value_rendezvous_ports (value, err);
}

/* Shells replace ~ at the beginning of a word, and not within --tf-log-dir=~/logs or in #SBATCH. */
static int _check_tilde (const char *value, struct errtext *err)
{
    const char *home = getenv ("HOME"), *rest = value + 1;
    struct quoted q1, q2;

    if (*value != '~')
        return 0;
    if (!home || (*rest != '/' && *rest != '\0'))
        return errtext_set (err, "the shell does not replace ~ here; an absolute path is needed");
    return errtext_set (err, "the shell does not replace ~ here; %s%s is needed",
                        text_quoted (&q1, home, strlen (home)), text_quoted (&q2, rest, strlen (rest)));
}

/* Nor $NAME in #SBATCH. */
static int _check_dollar (const char *value, struct errtext *err)
{
    const char *dollar = strchr (value, '$');
    struct quoted q;

    if (!dollar)
        return 0;
    return errtext_set (err, "the shell does not replace %s here; write its value, or a pattern such as %%j",
                        text_quoted (&q, dollar, strcspn (dollar, "/")));
}

int value_log_dir (const char *value, struct errtext *err)
{
    if (*value == '\0')
        return errtext_set (err, "the name of a directory is needed");
    if (strlen (value) >= PATH_MAX / 2)
        return errtext_set (err, "the name of the directory is too long");
    if (strpbrk (value, "\n\r"))
        return errtext_set (err, "the name of the directory has a newline");
    if (_check_tilde (value, err) < 0 || _check_dollar (value, err) < 0)
        return -1;
    return pattern_check (value, err);
}

int value_frameworks (const char *value, struct errtext *err)
{
    unsigned int frameworks;

    return frameworks_parse (&frameworks, value, err);
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

int value_restart (const char *value, struct errtext *err)
{
    struct quoted q;
    int times, total;
    bool any;

    if (value_restart_parse (&times, &any, &total, value) == 0)
        return 0;
    return errtext_set (err,
                        "\"%s\" is not a number of restarts from 0 to %d, or one followed by "
                        "\"," VALUE_RESTART_ANY "\", and by \"," VALUE_RESTART_TOTAL
                        "M\" with a number from the first one to %d",
                        text_quoted (&q, value, strlen (value)), VALUE_MAX_RESTARTS, VALUE_MAX_TOTAL);
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

int value_watchdog (const char *value, struct errtext *err)
{
    struct quoted q;
    int seconds, first;
    bool learns;

    if (value_watchdog_parse (&seconds, &first, &learns, value) == 0)
        return 0;
    return errtext_set (err,
                        "\"%s\" is not \"" VALUE_WATCHDOG_AUTO "\", a time from 0 to %d " TIME_EXAMPLES
                        ", or two, as in 300,1800",
                        text_quoted (&q, value, strlen (value)), VALUE_MAX_SECONDS);
}

int value_timeout (const char *value, struct errtext *err)
{
    return _check_seconds (value, 1, err);
}

/* Role names, separated by commas: a task list without counts. */
int value_roles (const char *value, struct errtext *err)
{
    struct tasklist *list;
    bool spare = false;

    if (strpbrk (value, ":+") || tasklist_parse (&list, value, err) < 0)
        return errtext_set (err, "names separated by commas are needed, as in roles=tester,logger");
    for (size_t i = 0; i < tasklist_length (list); i++)
        spare = spare || rules_find (tasklist_item (list, i)->role) == RULES_SPARE;
    tasklist_destroy (list);
    if (!spare)
        return 0;
    return errtext_set (err, "\"spare\" is a task without a role; choose another name");
}

int value_notify (const char *value, struct errtext *err)
{
    if (strlen (value) >= PATH_MAX)
        return errtext_set (err, "the name of the program is too long");
    return value[0] == '/' ? 0 : errtext_set (err, "the absolute path of a program is needed");
}

int value_user_notify (const char *value, struct errtext *err)
{
    if (!*value)
        return errtext_set (err, "a program is needed, such as ~/bin/notify, or none");
    return strlen (value) < PATH_MAX ? 0 : errtext_set (err, "the name of the program is too long");
}

int value_libexecdir (const char *value, struct errtext *err)
{
    return value[0] == '/' ? 0 : errtext_set (err, "an absolute path is needed");
}

int value_rendezvous_ports (const char *value, struct errtext *err)
{
    struct port_ranges ranges;

    return port_ranges_parse (&ranges, value, err);
}

int value_grace (const char *value, struct errtext *err)
{
    return _check_seconds (value, 0, err);
}

int value_lost_after (const char *value, struct errtext *err)
{
    return _check_seconds (value, VALUE_MIN_LOST_AFTER, err);
}
