/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "srun_help.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPTIONS 512

/* What is indented more goes on with the text of the line before. */
#define MOST_INDENT 8

/* The title of what plugins have registered. */
#define OF_PLUGINS "Options provided by plugins"

struct option {
    char letter;            /* or 0 */
    char name[40];          /* or "" */
    enum srun_value value;
};

struct srun_help {
    bool of_plugins;        /* the options below the last title */
    size_t count;
    struct option option[MOST_OPTIONS];
};

/* What the help of 20.11 to 26.05 says otherwise than srun does. */
static const struct {
    const char *name;
    enum srun_value value;
} erratum[] = {
    { "bcast", SRUN_VALUE_BEHIND },        { "container", SRUN_VALUE_NEEDED },
    { "container-id", SRUN_VALUE_NEEDED }, { "kill-on-bad-exit", SRUN_VALUE_BEHIND },
    { "no-kill", SRUN_VALUE_BEHIND },      { "resv-ports", SRUN_VALUE_BEHIND },
};

/* Of the option of this name, which this text follows. */
static enum srun_value _value_in_help (const struct srun_help *help, const char *name, const char *text)
{
    if (help->of_plugins)
        return SRUN_VALUE_UNKNOWN;
    for (size_t i = 0; i < sizeof (erratum) / sizeof (erratum[0]); i++)
        if (strcmp (erratum[i].name, name) == 0)
            return erratum[i].value;
    if (*text == '=')
        return SRUN_VALUE_NEEDED;
    return strncmp (text, "[=", 2) == 0 ? SRUN_VALUE_BEHIND : SRUN_VALUE_NONE;
}

static size_t _name_length (const char *text)
{
    size_t length = 0;

    while (isalnum ((unsigned char)text[length]) || text[length] == '-' || text[length] == '_')
        length++;
    return length;
}

/* "  -N, --nodes=N     number of nodes"; "-B  --extra-node-info=S" lacks the comma. */
static void _read_line (struct srun_help *help, const char *line)
{
    struct option *option = &help->option[help->count];
    const char *text = line + strspn (line, " \t");
    size_t length;

    if (text == line && *line)
        help->of_plugins = strncmp (line, OF_PLUGINS, sizeof (OF_PLUGINS) - 1) == 0;
    if (help->count == MOST_OPTIONS || text == line || text - line > MOST_INDENT || *text != '-')
        return;
    if (text[1] != '-' && isalnum ((unsigned char)text[1])) {
        option->letter = text[1];
        text += 2 + strspn (text + 2, ", ");
    }
    if (strncmp (text, "--", 2) == 0) {
        text += 2;
        length = _name_length (text);
        if (length == 0 || length >= sizeof (option->name))
            return;
        memcpy (option->name, text, length);
        text += length;
    }
    option->value = _value_in_help (help, option->name, text);
    help->count++;
}

struct srun_help *srun_help_create (const char *text)
{
    struct srun_help *help = calloc (1, sizeof (*help));

    while (help && *text) {
        size_t length = strcspn (text, "\n");
        char line[128] = "";

        memcpy (line, text, length < sizeof (line) ? length : sizeof (line) - 1);
        _read_line (help, line);
        text += length + (text[length] != '\0');
    }
    return help;
}

static enum srun_value _find_letter (const struct srun_help *help, char letter)
{
    for (size_t i = 0; i < help->count; i++)
        if (help->option[i].letter == letter)
            return help->option[i].value;
    return SRUN_VALUE_UNKNOWN;
}

enum srun_value srun_help_find (const struct srun_help *help, const char *word)
{
    enum srun_value value = SRUN_VALUE_UNKNOWN;
    const char *name = word + 2;
    size_t length = strlen (name);

    if (word[1] != '-')
        return _find_letter (help, word[1]);
    for (size_t i = 0; i < help->count; i++) {
        const struct option *option = &help->option[i];

        if (!option->name[0] || strncmp (option->name, name, length) != 0)
            continue;
        if (!option->name[length])
            return option->value;
        /* Of several options that the abbreviation can mean, those that are not of one kind are not known. */
        if (value != SRUN_VALUE_UNKNOWN && value != option->value)
            return SRUN_VALUE_UNKNOWN;
        value = option->value;
    }
    return value;
}

bool srun_help_has (const struct srun_help *help, const char *name)
{
    for (size_t i = 0; i < help->count; i++)
        if (strcmp (help->option[i].name, name) == 0)
            return true;
    return false;
}
