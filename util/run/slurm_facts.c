/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "slurm_facts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/number.h"

/*
 * The value of "Key                     = value" in a line of the text, cut off at the end of that line; or
 * NULL.
 */
static const char *_setting (const char *text, const char *key, char *room, size_t size)
{
    size_t length = strlen (key);

    for (const char *line = text; line; line = strchr (line, '\n') ? strchr (line, '\n') + 1 : NULL) {
        const char *rest = line + length;

        if (strncasecmp (line, key, length) != 0)
            continue;
        rest += strspn (rest, " ");
        if (*rest++ != '=')
            continue;
        rest += strspn (rest, " ");
        snprintf (room, size, "%.*s", (int)strcspn (rest, "\n"), rest);
        return room;
    }
    return NULL;
}

/* "30 sec", "1" */
static int _number (const char *text, const char *key, int missing)
{
    char room[64];
    const char *value = _setting (text, key, room, sizeof (room));
    int number = value ? number_scan (&value, INT_MAX - 1) : -1;

    return number < 0 ? missing : number;
}

void slurm_facts_read (struct slurm_facts *facts, const char *text)
{
    char room[64];
    const char *ports = _setting (text, "SrunPortRange", room, sizeof (room));

    if (!ports || port_ranges_parse (&facts->ports, ports, NULL) < 0)
        facts->ports.count = 0;
    facts->appends_output = _number (text, "JobFileAppend", 0) == 1;
    facts->wait_time = _number (text, "WaitTime", 0);
    facts->kill_wait = _number (text, "KillWait", -1);
    facts->signals_only_children = false;
    if (_setting (text, "ProctrackType", room, sizeof (room)) && strstr (room, "cgroup"))
        facts->signals_only_children =
            !_setting (text, "SignalChildrenProcesses", room, sizeof (room)) || strcasecmp (room, "yes") != 0;
}
