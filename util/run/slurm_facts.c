/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "slurm_facts.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "common/conf_file.h"
#include "common/number.h"
#include "launch/cgroup_conf.h"

/* Slurm's defaults, for what slurm.conf does not set. */
#define DEFAULT_KILL_WAIT 30

/* "30", "30 sec" */
static void _take_number (int *to, const char *text)
{
    int number = number_scan (&text, INT_MAX - 1);

    if (number >= 0)
        *to = number;
}

/* Until cgroup.conf is read, the last fact is about the type alone. */
static void _take_fact (void *arg, const char *key, const char *value)
{
    struct slurm_facts *facts = arg;

    if (strcasecmp (key, "SrunPortRange") == 0 && port_ranges_parse (&facts->ports, value, NULL) < 0)
        facts->ports.count = 0;
    else if (strcasecmp (key, "JobFileAppend") == 0)
        facts->appends_output = *value == '1';
    else if (strcasecmp (key, "WaitTime") == 0)
        _take_number (&facts->wait_time, value);
    else if (strcasecmp (key, "KillWait") == 0)
        _take_number (&facts->kill_wait, value);
    else if (strcasecmp (key, "ProctrackType") == 0)
        facts->signals_only_children = strstr (value, "cgroup") != NULL;
    else if (strcasecmp (key, "SignalChildrenProcesses") == 0 && strcasecmp (value, "yes") == 0)
        facts->signals_only_children = false;
}

void slurm_facts_read_files (struct slurm_facts *facts, const char *slurm_conf)
{
    char path[PATH_MAX];
    int all;

    *facts = (struct slurm_facts){ .kill_wait = DEFAULT_KILL_WAIT, .signals_only_children = true };
    if (!slurm_conf || conf_file_read (slurm_conf, _take_fact, facts, NULL) != 0
        || conf_file_beside (path, slurm_conf, "cgroup.conf", NULL) < 0
        || (all = cgroup_conf_signals_all (path, NULL)) < 0)
        return;
    facts->signals_only_children = facts->signals_only_children && !all;
    facts->known = true;
}

void slurm_facts_read_text (struct slurm_facts *facts, char *text)
{
    *facts = (struct slurm_facts){ .known = true, .kill_wait = -1 };
    for (char *line; (line = strsep (&text, "\n"));) {
        char *key = strsep (&line, "=");

        key[strcspn (key, " ")] = '\0';
        if (line)
            _take_fact (facts, key, line + strspn (line, " "));
    }
}
