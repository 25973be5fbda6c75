/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "cgroup_conf.h"

#include <stdbool.h>
#include <stddef.h>
#include <strings.h>

#include "common/conf_file.h"

/* The words that Slurm takes for yes; s_p_handle_boolean () in its parse_value.c. */
static bool _is_yes (const char *value)
{
    static const char *const yes[] = { "yes", "up", "true", "1" };

    for (size_t i = 0; i < sizeof (yes) / sizeof (yes[0]); i++)
        if (strcasecmp (value, yes[i]) == 0)
            return true;
    return false;
}

/* Of several values the last one counts. */
static void _take_value (void *arg, const char *key, const char *value)
{
    if (strcasecmp (key, "SignalChildrenProcesses") == 0)
        *(bool *)arg = _is_yes (value);
}

int cgroup_conf_signals_all (const char *path, struct errtext *err)
{
    bool all = false;

    return conf_file_read (path, _take_value, &all, err) < 0 ? -1 : all;
}
