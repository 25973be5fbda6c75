/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "preflight.h"

#include <limits.h>
#include <string.h>

#include "value.h"

#define TIMEOUT "timeout="
#define WARN 32

const struct choice preflight_words[] = { { "yes", PREFLIGHT_ALL },
                                          { "files", PREFLIGHT_FILES },
                                          { "clock", PREFLIGHT_CLOCK },
                                          { "gpus", PREFLIGHT_GPUS },
                                          { "links", PREFLIGHT_LINKS },
                                          { "warn", WARN },
                                          { NULL, 0 } };

bool preflight_is_on (const char *value)
{
    const struct choice *found = choice_find (choice_switch, value, strlen (value));

    return !found || found->meaning;
}

/* -1 if it is not a time, as of "timeout=90" or "timeout=2m". */
static int _take_timeout (struct preflight_rule *rule, const char *item, size_t length)
{
    char text[32];

    if (length >= sizeof (text))
        return -1;
    memcpy (text, item, length);
    text[length] = '\0';
    return value_seconds_parse (&rule->seconds, text + strlen (TIMEOUT), 1, PREFLIGHT_MOST_SECONDS);
}

static int _take_program (struct preflight_rule *rule, const char *item, size_t length, struct errtext *err)
{
    if (rule->program)
        return errtext_set (err, "only one program can be given; a script can call several");
    if (length >= PATH_MAX)
        return errtext_set (err, "the name of the program is too long");
    rule->items |= PREFLIGHT_PROGRAM;
    rule->program = item;
    rule->length = (int)length;
    return 0;
}

static int _take_word (struct preflight_rule *rule, const char *item, size_t length, struct errtext *err)
{
    const struct choice *found = choice_find (preflight_words, item, length),
                        *meant = choice_find (choice_switch, item, length);
    struct choice_words room;
    struct quoted q;

    if (*item == '/')
        return _take_program (rule, item, length, err);
    if (strncmp (item, TIMEOUT, strlen (TIMEOUT)) == 0) {
        if (_take_timeout (rule, item, length) == 0)
            return 0;
        return errtext_set (err,
                            "\"%s\" is not a time from 1 to %d seconds, as in " TIMEOUT "90 or " TIMEOUT "2m",
                            text_quoted (&q, item, length), PREFLIGHT_MOST_SECONDS);
    }
    if (!found && meant && meant->meaning)
        found = &preflight_words[0];
    if (!found) {
        errtext_set (
            err,
            "\"%s\" is not an item; use no, or some of %s, the absolute path of a program and " TIMEOUT
            "SECONDS, separated by commas",
            text_quoted (&q, item, length), choice_join (preflight_words, ", ", ", ", &room));
        return choice_suggest (preflight_words, item, length, err);
    }
    if (found->meaning == WARN)
        rule->warn = true;
    else
        rule->items |= (unsigned int)found->meaning;
    return 0;
}

int preflight_parse (struct preflight_rule *rule, const char *value, struct errtext *err)
{
    *rule = (struct preflight_rule){ .seconds = PREFLIGHT_SECONDS };
    if (!preflight_is_on (value))
        return 0;
    for (const char *item = value;; item++) {
        size_t length = strcspn (item, ",");

        if (_take_word (rule, item, length, err) < 0)
            return -1;
        item += length;
        if (!*item)
            break;
    }
    if (rule->items == 0)
        rule->items = PREFLIGHT_ALL;
    return 0;
}
