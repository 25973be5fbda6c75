/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "slurm_conf.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/conf_file.h"

#define RUN_CONF "/run/slurm/conf/"

/*
 * Slurm's own place is compiled into srun. These are the places of its packages and of a plain
 * `make install`; the first one is beside our own plugstack.conf.d. The last one is a link that
 * slurmd makes when it got its configuration from slurmctld.
 */
static const char *const place[] = {
    SYSCONFDIR "/slurm.conf",    "/etc/slurm/slurm.conf",     "/etc/slurm-llnl/slurm.conf",
    "/usr/local/etc/slurm.conf", "/opt/slurm/etc/slurm.conf", RUN_CONF "slurm.conf",
};

int slurm_conf_find (struct slurm_conf *conf, const char *given, struct errtext *err)
{
    char here[PATH_MAX] = "";

    if (!given)
        given = getenv ("SLURM_CONF");
    for (size_t i = 0; i < sizeof (place) / sizeof (place[0]) && !given; i++)
        if (access (place[i], F_OK) == 0)
            given = place[i];
    if (!given)
        return errtext_set (err, "slurm.conf is not in /etc/slurm, and not in /run/slurm/conf, "
                                 "where slurmd puts it");
    /* Owners are those of a whole path. */
    if (*given != '/' && !getcwd (here, sizeof (here)))
        return errtext_set (err, "%s: %s", given, strerror (errno));
    if (snprintf (conf->path, sizeof (conf->path), "%s%s%s", here, *here ? "/" : "", given)
        >= (int)sizeof (conf->path))
        return errtext_set (err, "the path of slurm.conf is too long");
    return 0;
}

static void _take_key (void *arg, const char *key, const char *value)
{
    struct slurm_conf *conf = arg;
    const struct {
        const char *name;
        char *to;
        size_t size;
        bool first;         /* of several values the first one counts */
    } known[] = {
        { "PlugStackConfig", conf->plugstack, sizeof (conf->plugstack), false },
        { "PluginDir", conf->plugin_dir, sizeof (conf->plugin_dir), false },
        { "SrunPortRange", conf->srun_ports, sizeof (conf->srun_ports), false },
        { "MpiParams", conf->mpi_params, sizeof (conf->mpi_params), false },
        { "SlurmctldHost", conf->controller, sizeof (conf->controller), true },
        { "ControlMachine", conf->controller, sizeof (conf->controller), true },
    };

    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        if (strcasecmp (key, known[i].name) == 0 && !(known[i].first && *known[i].to))
            snprintf (known[i].to, known[i].size, "%s", value);
}

/*
 * slurmd's copies are in conf-cache of its SlurmdSpoolDir, to which /run/slurm/conf is a link; sackd's are
 * there.
 */
static bool _is_from_slurmctld (const char *path)
{
    static const char cache[] = "/conf-cache/slurm.conf";
    char real[PATH_MAX];
    size_t length;

    if (strncmp (path, RUN_CONF, sizeof (RUN_CONF) - 1) == 0)
        return true;
    if (!realpath (path, real))
        return false;
    length = strlen (real);
    return length >= sizeof (cache) && strcmp (real + length - (sizeof (cache) - 1), cache) == 0;
}

int slurm_conf_read (struct slurm_conf *conf, struct errtext *err)
{
    char name[PATH_MAX];

    conf->configless = _is_from_slurmctld (conf->path);
    if (conf_file_read (conf->path, _take_key, conf, err) != 0)
        return -1;
    memcpy (name, conf->plugstack, sizeof (name));
    return conf_file_beside (conf->plugstack, conf->path, *name ? name : "plugstack.conf", err);
}
