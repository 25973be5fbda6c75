/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The few settings of slurm.conf that tf-check needs, read from the file as Slurm reads it:
 * tf-check links no Slurm and asks no daemon.
 */
#ifndef TF_SLURM_CONF_H
#define TF_SLURM_CONF_H

#include <limits.h>
#include <stdbool.h>

#include "common/errtext.h"

/* "" if slurm.conf does not have the key. */
struct slurm_conf {
    char path[PATH_MAX];            /* of slurm.conf */
    char plugstack[PATH_MAX];       /* PlugStackConfig, or plugstack.conf beside slurm.conf */
    char plugin_dir[PATH_MAX];      /* PluginDir, may be several with ':' between them */
    char srun_ports[64];            /* SrunPortRange */
    char mpi_params[256];           /* MpiParams */
    bool configless;                /* the file is a copy that came from slurmctld ("configless") */
    char controller[256];           /* the first SlurmctldHost or ControlMachine: NAME(ADDRESS) */
};

/*
 * Where srun looks for slurm.conf: `given`, or SLURM_CONF, or the first that exists of the places
 * where releases of Slurm are installed and of slurmd's copy on a host without files
 * ("configless"). -1 and err if there is none.
 */
int slurm_conf_find (struct slurm_conf *conf, const char *given, struct errtext *err);

/* Read the file at conf->path and the files that it includes. -1 and err, which names the file. */
int slurm_conf_read (struct slurm_conf *conf, struct errtext *err);

#endif
