/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "cgroup_conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY "SignalChildrenProcesses"
#define BLANKS " \t\r\n"

/* What follows "KEY =" in the line, which may have other keys too; NULL if the key is not there. */
static const char *_find_value (const char *line)
{
    for (const char *at = line; (at = strcasestr (at, KEY)); at++) {
        const char *rest = at + sizeof (KEY) - 1;

        rest += strspn (rest, BLANKS);
        if (*rest == '=' && (at == line || strchr (BLANKS, at[-1])))
            return rest + 1 + strspn (rest + 1, BLANKS "\"");
    }
    return NULL;
}

/* The words that Slurm takes for yes; s_p_handle_boolean () in its parse_value.c. */
static bool _is_yes (const char *value)
{
    static const char *const yes[] = { "yes", "up", "true", "1" };
    size_t length = strcspn (value, BLANKS "\"");

    for (size_t i = 0; i < sizeof (yes) / sizeof (yes[0]); i++)
        if (strlen (yes[i]) == length && strncasecmp (value, yes[i], length) == 0)
            return true;
    return false;
}

/* Of several values the last one counts. */
static int _read_conf (FILE *f)
{
    char *line = NULL;
    size_t size = 0;
    int all = 0;

    while (getline (&line, &size, f) >= 0) {
        const char *value;

        line[strcspn (line, "#")] = '\0';
        if ((value = _find_value (line)))
            all = _is_yes (value);
    }
    free (line);
    return ferror (f) ? -1 : all;
}

int cgroup_conf_signals_all (const char *path, struct errtext *err)
{
    FILE *f = fopen (path, "re");
    int all;

    if (!f)
        return errno == ENOENT ? 0 : errtext_set (err, "%s: %s", path, strerror (errno));
    if ((all = _read_conf (f)) < 0)
        errtext_set (err, "%s: %s", path, strerror (errno));
    fclose (f);
    return all;
}
