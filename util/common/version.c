/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char version[] VERSION_NOTE = VERSION_NAME PACKAGE_VERSION;

bool version_is_wanted (int argc, char *argv[])
{
    return argc > 1 && strcmp (argv[1], "--version") == 0;
}

int version_print (void)
{
    return puts (PACKAGE_STRING) == EOF || fflush (stdout) == EOF ? EXIT_FAILURE : EXIT_SUCCESS;
}
