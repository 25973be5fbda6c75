/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is slurm.conf. What it includes is the same file again, except names with "missing" in
 * them.
 */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include "check/slurm_conf.h"

FUZZ_TARGET (slurm_conf)
{
    static struct slurm_conf conf;
    struct errtext err;

    memset (&conf, 0, sizeof (conf));
    snprintf (conf.path, sizeof (conf.path), "%s", fuzz_file (data, size));
    fuzz_include_itself (true);
    err.text[0] = '\0';
    if (slurm_conf_read (&conf, &err) < 0)
        CHECK (err.text[0]);        /* with the name of a file, as it is */
    else {
        CHECK (conf.plugstack[0]);
        CHECK (memchr (conf.plugin_dir, '\0', sizeof (conf.plugin_dir)));
        CHECK (memchr (conf.srun_ports, '\0', sizeof (conf.srun_ports)));
        CHECK (memchr (conf.mpi_params, '\0', sizeof (conf.mpi_params)));
        CHECK (memchr (conf.controller, '\0', sizeof (conf.controller)));
        CHECK (!strpbrk (conf.plugin_dir, "\r\n"));
    }
    fuzz_include_itself (false);
}
