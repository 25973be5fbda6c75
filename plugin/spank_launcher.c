/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "spank_launcher.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "launch/launcher.h"

static spank_t task;

void spank_launcher_set_task (spank_t spank)
{
    task = spank;
}

/* A task prints as slurmstepd does where its stderr goes, without slurmstepd's own log. */
void launcher_say (bool error, const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    if (task)
        dprintf (STDERR_FILENO, "slurmstepd: %sspank_tf: %s\n", error ? "error: " : "", text);
    else if (error)
        slurm_error ("spank_tf: %s", text);
    else
        slurm_info ("spank_tf: %s", text);
}

char *const *launcher_environment (void)
{
    char **env = NULL;

    spank_get_item (task, S_JOB_ENV, &env);
    return env;
}

int launcher_set (const char *name, const char *value)
{
    return spank_setenv (task, name, value, 1) == ESPANK_SUCCESS ? 0 : -1;
}

int launcher_unset (const char *name)
{
    return spank_unsetenv (task, name) == ESPANK_SUCCESS ? 0 : -1;
}
