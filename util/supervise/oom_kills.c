/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "oom_kills.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "cpu,memory": controllers that are mounted together. */
static bool _has_memory (const char *controllers, size_t length)
{
    static const char memory[] = "memory";

    for (const char *end = controllers + length; controllers < end;) {
        size_t name = strcspn (controllers, ",:");

        if (name == sizeof (memory) - 1 && strncmp (controllers, memory, name) == 0)
            return true;
        controllers += name + 1;
    }
    return false;
}

/*
 * The file for a line of /proc/self/cgroup: "4:memory:/slurm/uid_1/job_2/step_0/task_0" of cgroup v1, or
 * "0::/system.slice/slurmstepd.scope/job_2/step_0/user/task_0" of v2; to be freed. NULL if there is none.
 */
static char *_file (const char *mount, char *line)
{
    char *controllers = strchr (line, ':'), *path = NULL, *file;
    int rc;

    line[strcspn (line, "\n")] = '\0';
    if (controllers)
        path = strchr (++controllers, ':');
    if (!path)
        return NULL;
    if (path == controllers)
        rc = asprintf (&file, "%s%s/memory.events", mount, path + 1);
    else if (_has_memory (controllers, (size_t)(path - controllers)))
        rc = asprintf (&file, "%s/memory%s/memory.oom_control", mount, path + 1);
    else
        return NULL;
    return rc < 0 ? NULL : file;
}

static int _read_count (const char *path)
{
    FILE *f = fopen (path, "re");
    char line[128];
    int count = -1;

    while (f && count < 0 && fgets (line, sizeof (line), f))
        /* NOLINTNEXTLINE(cert-err34-c): it is the kernel's number. */
        if (sscanf (line, "oom_kill %d", &count) != 1)
            count = -1;
    if (f)
        fclose (f);
    return count;
}

/* A path may have PATH_MAX bytes; on the stack these would stay in this process' memory. */
int oom_kills (const char *cgroup_file, const char *mount)
{
    FILE *f = fopen (cgroup_file, "re");
    char *line = NULL, *path;
    size_t size = 0;
    int count = -1;

    while (f && count < 0 && getline (&line, &size, f) > 0)
        if ((path = _file (mount, line))) {
            count = _read_count (path);
            free (path);
        }
    free (line);
    if (f)
        fclose (f);
    return count;
}
