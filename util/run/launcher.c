/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-run's functions of launch/launcher.h: its process is that of the task, and becomes its program.
 */
#include "config.h"

#include "launch/launcher.h"

#include "launcher.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/helper.h"
#include "launch/options.h"

extern char **environ;

bool launcher_is_quiet;

void launcher_use_own_programs (void)
{
    const char *directory = helper_own_directory ();
    char program[PATH_MAX];

    if (directory && helper_path (program, sizeof (program), directory, "tf-supervise") == 0
        && access (program, X_OK) == 0)
        options_set_site (OPTION_LIBEXECDIR, directory);
}

void launcher_say (bool error, const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    if (launcher_is_quiet && !error)
        return;
    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    dprintf (STDERR_FILENO, "tf-run: %sspank_tf: %s\n", error ? "error: " : "", text);
}

char *const *launcher_environment (void)
{
    return environ;
}

int launcher_set (const char *name, const char *value)
{
    return setenv (name, value, 1);
}

int launcher_unset (const char *name)
{
    return unsetenv (name);
}
