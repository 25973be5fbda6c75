/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "own_programs.h"

#include <limits.h>
#include <unistd.h>

#include "common/helper.h"
#include "launch/options.h"

void own_programs_use (void)
{
    const char *directory = helper_own_directory ();
    char program[PATH_MAX];

    if (directory && helper_path (program, sizeof (program), directory, "tf-supervise") == 0
        && access (program, X_OK) == 0)
        options_set_site (OPTION_LIBEXECDIR, directory);
}
