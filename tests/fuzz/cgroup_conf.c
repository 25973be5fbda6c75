/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is Slurm's cgroup.conf.
 */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup_conf.h"

FUZZ_TARGET (cgroup_conf)
{
    char *text = fuzz_text (data, size);
    struct errtext err;
    int all = cgroup_conf_signals_all (fuzz_file (data, size), &err);

    CHECK (all == 0 || all == 1);
    if (strlen (text) == size && !strcasestr (text, "SignalChildrenProcesses"))
        CHECK (all == 0);
    free (text);
}
