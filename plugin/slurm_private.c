/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "slurm_private.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/conf_file.h"
#include "launch/cgroup_conf.h"

/* Low and high, or NULL. */
extern uint16_t *slurm_get_srun_port_range (void) __attribute__ ((weak));

/* slurm.conf as this process has read it. */
extern slurm_conf_t slurm_conf __attribute__ ((weak));

/* A variable of srun's program; slurmstepd has none. */
extern int MPIR_being_debugged __attribute__ ((weak));

void slurm_private_srun (struct srun_facts *facts)
{
    uint16_t *ports = slurm_get_srun_port_range ? slurm_get_srun_port_range () : NULL;

    facts->ports.count = ports != NULL;
    if (ports)
        facts->ports.range[0] = (struct port_range){ ports[0], ports[1] };
    facts->appends_output = &slurm_conf && slurm_conf.job_file_append == 1;
    facts->wait_time = &slurm_conf ? slurm_conf.wait_time : 0;
    facts->debugged = &MPIR_being_debugged && MPIR_being_debugged;
}

/*
 * cgroup.conf is in the directory of slurm.conf. Releases that know SignalChildrenProcesses read no
 * slurm.conf in slurmstepd, but slurmd has set SLURM_CONF for it.
 */
static int _cgroup_signals_all (struct errtext *err)
{
    const char *conf;
    char path[PATH_MAX];

    if (SLURM_VERSION_NUMBER < SLURM_VERSION_NUM (23, 11, 0))
        return 0;
    if (!(conf = getenv ("SLURM_CONF")))
        return errtext_set (err, "slurm.conf: its directory is not known");
    return conf_file_beside (path, conf, "cgroup.conf", err) < 0 ? -1 : cgroup_conf_signals_all (path, err);
}

void slurm_private_task (struct task_of_slurm *slurm)
{
    const char *type = &slurm_conf ? slurm_conf.proctrack_type : NULL;
    const char *slash = type ? strchr (type, '/') : NULL;
    int all;

    slurm->kill_wait = &slurm_conf ? slurm_conf.kill_wait : -1;
    slurm->forwards = 0;
    /* "proctrack/cgroup"; newer releases leave the prefix out. */
    if (!type || strcmp (slash ? slash + 1 : type, "cgroup") != 0)
        return;
    all = _cgroup_signals_all (&slurm->forwards_error);
    slurm->forwards = all < 0 ? -1 : !all;
}
