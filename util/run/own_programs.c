/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "own_programs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/options.h"

const char *own_programs_self (void)
{
    static char path[PATH_MAX];
    ssize_t length = readlink ("/proc/self/exe", path, sizeof (path) - 1);

    return length > 0 && path[0] == '/' ? path : NULL;
}

void own_programs_use (void)
{
    static char directory[PATH_MAX];
    const char *self = own_programs_self ();
    char program[PATH_MAX + sizeof ("/tf-supervise")];

    if (!self)
        return;
    snprintf (directory, sizeof (directory), "%.*s", (int)(strrchr (self, '/') - self), self);
    snprintf (program, sizeof (program), "%s/tf-supervise", directory);
    if (access (program, X_OK) == 0)
        options_set_site (OPTION_LIBEXECDIR, directory);
}
