/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Is spank-tf installed on this host so that Slurm loads it?
 */
#ifndef TF_INSTALLATION_H
#define TF_INSTALLATION_H

#include <sys/types.h>

#include "common/option_table.h"
#include "findings.h"
#include "plugstack.h"
#include "slurm_conf.h"

/* What was found; "" or NULL where it was not. */
struct installation {
    struct slurm_conf conf;
    struct plugstack stack;
    const char *argument[OPTION_COUNT]; /* valid values in the line that loads the plugin */
    char version[32];               /* of the plugin: "0.2.0" */
    char built_for[16];             /* the release of Slurm for which it was built: "22.05" */
    char libexecdir[PATH_MAX];      /* where the plugin looks for its helper programs */
};

/*
 * Check slurm.conf, plugstack.conf, the plugin's arguments, the plugin, its helper programs, and that others
 * than root and `owner` cannot change any of it: 0, but in tests. `slurm_conf` is the path of slurm.conf, or
 * NULL: where Slurm looks for it.
 */
void installation_check (struct installation *installation, const char *slurm_conf, uid_t owner,
                         struct findings *findings);

#endif
