/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "beside.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "variables.h"

bool beside_is (const char *role)
{
    return role[0] == BESIDE_SIGN;
}

const char *beside_name (const char *role)
{
    return role + beside_is (role);
}

bool beside_is_name (const char *name, size_t length)
{
    return length > 0 && length <= BESIDE_MAX_NAME && strspn (name, BESIDE_CHARACTERS) >= length;
}

const char *beside_variable (const char *name, struct beside_variable *room)
{
    snprintf (room->name, sizeof (room->name), BESIDE_PREFIX "%.*s", BESIDE_MAX_NAME, name);
    for (char *c = room->name; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)toupper ((unsigned char)*c);
    return room->name;
}

int beside_check (const char *name, struct errtext *err)
{
    static const char *const options[] = { "environment", "help", "version" };
    struct beside_variable room;

    if (variable_find (beside_variable (name, &room)))
        return errtext_set (err,
                            "its variable would be %s, which has another meaning; choose "
                            "another name",
                            room.name);
    for (size_t i = 0; i < sizeof (options) / sizeof (options[0]); i++)
        if (strcmp (options[i], name) == 0)
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
            return errtext_set (err, "\"+%s\" and \"+%s\" would have the same variable, %s", names->name[i],
                                name, beside_variable (name, &room));
    if (names->count == BESIDE_MAX_NAMES)
        return errtext_set (err, "more than %d different names with \"+\"", BESIDE_MAX_NAMES);
    names->name[names->count] = name;
    return (int)names->count++;
}
