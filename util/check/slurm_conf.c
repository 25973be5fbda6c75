/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "slurm_conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BLANKS " \t\r\n"

#define RUN_CONF "/run/slurm/conf/"

/* A file that includes itself ends here. */
#define MAX_DEPTH 8

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
    if (!given)
        given = getenv ("SLURM_CONF");
    for (size_t i = 0; i < sizeof (place) / sizeof (place[0]) && !given; i++)
        if (access (place[i], F_OK) == 0)
            given = place[i];
    if (!given)
        return errtext_set (err, "slurm.conf is not in /etc/slurm, and not in /run/slurm/conf, "
                                 "where slurmd puts it");
    if (snprintf (conf->path, sizeof (conf->path), "%s", given) >= (int)sizeof (conf->path))
        return errtext_set (err, "the path of slurm.conf is too long");
    return 0;
}

int slurm_conf_beside (char *to, const char *file, const char *name)
{
    const char *slash = strrchr (file, '/');
    int directory = slash && *name != '/' ? (int)(slash + 1 - file) : 0;

    return snprintf (to, PATH_MAX, "%.*s%s", directory, file, name) < PATH_MAX ? 0 : -1;
}

/* Keys. */

static void _copy_value (char *to, size_t size, const char *value, size_t length)
{
    snprintf (to, size, "%.*s", (int)length, value);
}

static bool _is (const char *key, size_t length, const char *name)
{
    return strlen (name) == length && strncasecmp (key, name, length) == 0;
}

static void _take_setting (struct slurm_conf *conf, const char *key, size_t length, const char *value,
                           size_t size)
{
    if (_is (key, length, "PlugStackConfig"))
        _copy_value (conf->plugstack, sizeof (conf->plugstack), value, size);
    else if (_is (key, length, "PluginDir"))
        _copy_value (conf->plugin_dir, sizeof (conf->plugin_dir), value, size);
    else if (_is (key, length, "SrunPortRange"))
        _copy_value (conf->srun_ports, sizeof (conf->srun_ports), value, size);
    else if (_is (key, length, "MpiParams"))
        _copy_value (conf->mpi_params, sizeof (conf->mpi_params), value, size);
    else if ((_is (key, length, "SlurmctldHost") || _is (key, length, "ControlMachine"))
             && !*conf->controller)
        _copy_value (conf->controller, sizeof (conf->controller), value, size);
}

/* Take every KEY=VALUE of a line. A value may be in quotes; blanks may be around the "=". */
static void _read_conf_line (struct slurm_conf *conf, const char *line)
{
    const char *key = line + strspn (line, BLANKS);

    while (*key) {
        size_t length = strcspn (key, "=" BLANKS), size;
        const char *value = key + length + strspn (key + length, BLANKS);

        if (*value == '=') {
            value += 1 + strspn (value + 1, BLANKS);
            size = *value == '"' ? strcspn (++value, "\"") : strcspn (value, BLANKS);
            _take_setting (conf, key, length, value, size);
            value += size + (value[size] == '"');
        }
        key = value + strspn (value, BLANKS);
    }
}

/* Files. */

/* Read a line and those that continue it, without comments. NULL at the end of the file. */
static char *_next_line (FILE *f, char **line, size_t *size)
{
    char *more = NULL;
    size_t room = 0, used = 0;

    while (getline (&more, &room, f) >= 0) {
        size_t length = strcspn (more, "#\r\n");
        bool continues = length && more[length] != '#' && more[length - 1] == '\\';

        if (!*line || used + length + 1 > *size) {
            char *grown = realloc (*line, *size = used + length + 256);

            if (!grown)
                break;
            *line = grown;
        }
        memcpy (*line + used, more, length);
        used += length - continues;
        (*line)[used] = '\0';
        if (!continues) {
            free (more);
            return *line;
        }
    }
    free (more);
    return used ? *line : NULL;
}

static int _read_conf_file (struct slurm_conf *conf, const char *path, int depth, struct errtext *err);

/* 1 if the line is an include, which was read; 0 if it is not; -1 and err. */
static int _include_conf (struct slurm_conf *conf, char *line, int depth, struct errtext *err)
{
    char *name, path[PATH_MAX];

    line += strspn (line, BLANKS);
    if (strncasecmp (line, "include", 7) != 0 || !strchr (BLANKS, line[7]) || !line[7])
        return 0;
    name = line + 7 + strspn (line + 7, BLANKS);
    name[strcspn (name, BLANKS)] = '\0';
    if (slurm_conf_beside (path, conf->path, name) < 0)
        return errtext_set (err, "%s: the path of an included file is too long", conf->path);
    return _read_conf_file (conf, path, depth + 1, err) < 0 ? -1 : 1;
}

static int _read_conf_file (struct slurm_conf *conf, const char *path, int depth, struct errtext *err)
{
    FILE *f = depth < MAX_DEPTH ? fopen (path, "re") : NULL;
    char *line = NULL;
    size_t size = 0;
    int rc = 0;

    if (!f)
        return errtext_set (err, "%s: %s", path, depth < MAX_DEPTH ? strerror (errno) : "it includes itself");
    while (rc >= 0 && _next_line (f, &line, &size))
        if ((rc = _include_conf (conf, line, depth, err)) == 0)
            _read_conf_line (conf, line);
    if (rc >= 0 && ferror (f))
        rc = errtext_set (err, "%s: %s", path, strerror (errno));
    free (line);
    fclose (f);
    return rc < 0 ? -1 : 0;
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
    if (_read_conf_file (conf, conf->path, 0, err) < 0)
        return -1;
    memcpy (name, conf->plugstack, sizeof (name));
    if (slurm_conf_beside (conf->plugstack, conf->path, *name ? name : "plugstack.conf") < 0)
        return errtext_set (err, "the path of plugstack.conf is too long");
    return 0;
}
