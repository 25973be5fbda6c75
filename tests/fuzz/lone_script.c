/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a batch script.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "lone_script.h"

FUZZ_TARGET (lone_script)
{
    char *text = fuzz_text (data, size);

    if (lone_script (text)) {
        CHECK (strstr (text, "python"));
        CHECK (!strstr (text, "srun ") && !strstr (text, "mpiexec") && !strstr (text, "mpirun\n"));
    }
    free (text);
}
