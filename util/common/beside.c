/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "beside.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PREFIX "SLURM_TF_"

bool beside_is (const char *role)
{
    return role[0] == BESIDE_SIGN;
}

const char *beside_name (const char *role)
{
    return role + beside_is (role);
}

/* ASCII in every locale. */
static bool _is_name_char (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool beside_is_name (const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!_is_name_char (name[i]))
            return false;
    return length > 0 && length <= BESIDE_MAX_NAME;
}

const char *beside_variable (const char *name, struct beside_variable *room)
{
    snprintf (room->name, sizeof (room->name), PREFIX "%.*s", BESIDE_MAX_NAME, name);
    for (char *c = room->name; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)toupper ((unsigned char)*c);
    return room->name;
}

static bool _is_one_of (const char *const *word, const char *name)
{
    while (*word && strcmp (*word, name) != 0)
        word++;
    return *word;
}

int beside_check (const char *name, struct errtext *err)
{
    /* What a task has, what the plugin removes before it starts, and what tf-exec sets. */
    static const char *const variables[] = {
        PREFIX "ROLE", PREFIX "INDEX", PREFIX "ADDRESS", PREFIX "PORT", PREFIX "INTERFACE",
        PREFIX "RESTART", PREFIX "ADDED", BESIDE_VARIABLE, PREFIX "RENDEZVOUS", PREFIX "LOG_DIR",
        PREFIX "CONFIG_FILE", NULL
    };
    static const char *const options[] = { "environment", "help", "version", NULL };
    struct beside_variable room;

    if (_is_one_of (variables, beside_variable (name, &room)))
        return errtext_set (err, "its variable would be %s, which has another meaning; choose "
                            "another name", room.name);
    if (_is_one_of (options, name))
        return errtext_set (err, "tf-exec has an option --%s; choose another name", name);
    return 0;
}

int beside_add (struct beside_names *names, const char *name, struct errtext *err)
{
    struct beside_variable room;

    for (size_t i = 0; i < names->count; i++)
        if (strcmp (names->name[i], name) == 0)
            return (int)i;
        else if (strcasecmp (names->name[i], name) == 0)
            return errtext_set (err, "\"+%s\" and \"+%s\" would have the same variable, %s",
                                names->name[i], name, beside_variable (name, &room));
    if (names->count == BESIDE_MAX_NAMES)
        return errtext_set (err, "more than %d different names with \"+\"", BESIDE_MAX_NAMES);
    names->name[names->count] = name;
    return (int)names->count++;
}
