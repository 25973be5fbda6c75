/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "slurm_private.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Low and high, or NULL. */
extern uint16_t *slurm_get_srun_port_range (void) __attribute__ ((weak));

/* slurm.conf as this process has read it. */
extern slurm_conf_t slurm_conf __attribute__ ((weak));

/* A variable of srun's program; slurmstepd has none. */
extern int MPIR_being_debugged __attribute__ ((weak));

bool slurm_private_srun_ports (struct port_range *range)
{
    uint16_t *ports = slurm_get_srun_port_range ? slurm_get_srun_port_range () : NULL;

    if (ports)
        *range = (struct port_range){ ports[0], ports[1] };
    return ports != NULL;
}

bool slurm_private_appends_output (void)
{
    return &slurm_conf && slurm_conf.job_file_append == 1;
}

bool slurm_private_is_debugged (void)
{
    return &MPIR_being_debugged && MPIR_being_debugged;
}

int slurm_private_kill_wait (void)
{
    return &slurm_conf ? slurm_conf.kill_wait : -1;
}

/* "SignalChildrenProcesses = yes" in this line of cgroup.conf. */
static bool _signals_all (const char *line)
{
    static const char key[] = "SignalChildrenProcesses";

    line += strspn (line, " \t");
    if (strncasecmp (line, key, sizeof (key) - 1) != 0)
        return false;
    line += sizeof (key) - 1;
    line += strspn (line, " \t=");
    return strncasecmp (line, "yes", 3) == 0 || strncasecmp (line, "true", 4) == 0 || *line == '1';
}

/* cgroup.conf is in the directory of slurm.conf. */
static bool _cgroup_signals_all (void)
{
    const char *slash = slurm_conf.slurm_conf ? strrchr (slurm_conf.slurm_conf, '/') : NULL;
    char path[4096], line[256];
    bool all = false;
    FILE *f;

    if (!slash || SLURM_VERSION_NUMBER < SLURM_VERSION_NUM (23, 11, 0))
        return false;
    snprintf (path, sizeof (path), "%.*s/cgroup.conf", (int)(slash - slurm_conf.slurm_conf),
              slurm_conf.slurm_conf);
    if (!(f = fopen (path, "re")))
        return false;
    while (!all && fgets (line, sizeof (line), f))
        all = _signals_all (line);
    fclose (f);
    return all;
}

bool slurm_private_signals_only_children (void)
{
    const char *type = &slurm_conf ? slurm_conf.proctrack_type : NULL;
    const char *slash = type ? strchr (type, '/') : NULL;

    /* "proctrack/cgroup"; newer releases leave the prefix out. */
    return type && strcmp (slash ? slash + 1 : type, "cgroup") == 0 && !_cgroup_signals_all ();
}
