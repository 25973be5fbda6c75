/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "cmdline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* srun's options without a value, which may stand before another one behind the same dash. */
#define FLAGS "EHOQRVXZhklsuv"

int cmdline_add (struct cmdline *arguments, char *argument)
{
    char **grown = realloc (arguments->text, (arguments->count + 1) * sizeof (*arguments->text));

    if (!grown)
        return -1;
    arguments->text = grown;
    grown[arguments->count++] = argument;
    return 0;
}

void cmdline_read (struct cmdline *arguments)
{
    FILE *f = fopen ("/proc/self/cmdline", "re");
    char *argument = NULL;
    size_t size = 0;

    arguments->count = 0;
    arguments->text = NULL;
    while (f && getdelim (&argument, &size, '\0', f) > 0) {
        if (cmdline_add (arguments, argument) < 0)
            break;
        argument = NULL;
        size = 0;
    }
    free (argument);
    if (f)
        fclose (f);
}

void cmdline_clear (struct cmdline *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free (arguments->text[i]);
    free (arguments->text);
}

bool cmdline_has (const struct cmdline *line, const char *wanted)
{
    for (size_t i = 0; i < line->count; i++)
        if (strcmp (line->text[i], wanted) == 0)
            return true;
    return false;
}

static bool _is_off (const char *value)
{
    return strcasecmp (value, "off") == 0 || strcasecmp (value, "no") == 0;
}

bool cmdline_no_kill (const struct cmdline *arguments, const char *variable, bool otherwise)
{
    static const char name[] = "--no-kill";
    const char *value = getenv (variable);
    bool no_kill = value ? !_is_off (value) : otherwise;

    for (size_t i = 0; i < arguments->count; i++) {
        const char *text = arguments->text[i];
        size_t length = strcspn (text, "=");

        if (text[0] == '-' && memchr (text + 1, 'k', strspn (text + 1, FLAGS)))
            no_kill = strncmp (text, "-k", 2) != 0 || !_is_off (text + 2);
        else if (length >= sizeof ("--no-k") - 1 && length <= sizeof (name) - 1
                 && strncmp (text, name, length) == 0)
            no_kill = text[length] == '\0' || !_is_off (text + length + 1);
    }
    return no_kill;
}

/*
 * True if the argument is the option, or abbreviates it. *value is the text behind '=', or a letter, or NULL.
 */
static bool _is_option (const char *argument, const struct cmdline_option *option, const char **value)
{
    const char *equals = strchr (argument, '=');
    const char *letter = argument[0] == '-' ? argument + 1 + strspn (argument + 1, FLAGS) : "";
    size_t len = equals ? (size_t)(equals - argument) : strlen (argument);

    if (*letter && *letter == option->letter) {
        *value = letter[1] ? letter + 1 : NULL;
        return true;
    }
    *value = equals ? equals + 1 : NULL;
    return len >= option->shortest && len <= strlen (option->name)
           && strncmp (argument, option->name, len) == 0;
}

const char *cmdline_find (const struct cmdline *arguments, const struct cmdline_option *option)
{
    const char *found = NULL, *value;

    for (size_t i = 0; i < arguments->count; i++)
        if (_is_option (arguments->text[i], option, &value) && (value || i + 1 < arguments->count))
            found = value ? value : arguments->text[++i];
    return found;
}
