/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "own_name.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BLANKS " \t\r\n"

/* "ADDRESS NAME…", which is changed. */
static bool _leads_to (char *line, const char *name, struct address *address)
{
    char *rest = line, *word = NULL;
    bool parsed = false;

    line[strcspn (line, "#")] = '\0';
    while ((word = strsep (&rest, BLANKS)))
        if (*word == '\0')
            continue;
        else if (!parsed && address_parse (address, word) < 0)
            return false;
        else if (!parsed)
            parsed = true;
        else if (strcasecmp (word, name) == 0)
            return true;
    return false;
}

const char *own_name_find_loopback (FILE *hosts, const char *name, struct address_text *room)
{
    struct address address;
    char line[1024];

    while (fgets (line, sizeof (line), hosts))
        if (_leads_to (line, name, &address) && address_is_loopback (&address))
            return address_print (&address, room);
    return NULL;
}

const char *own_name_loopback (struct address_text *room)
{
    FILE *hosts = fopen ("/etc/hosts", "re");
    const char *found = NULL;
    char name[256];

    if (!hosts)
        return NULL;
    if (gethostname (name, sizeof (name)) == 0)
        found = own_name_find_loopback (hosts, name, room);
    fclose (hosts);
    return found;
}
