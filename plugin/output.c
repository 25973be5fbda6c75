/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "common/pattern.h"

/* A relative path counts from the task's working directory. */
static int _absolute (struct logdir *dir, const char *path, struct errtext *err)
{
    char here[PATH_MAX];

    if (path[0] == '/') {
        snprintf (dir->path, sizeof (dir->path), "%s", path);
        return 0;
    }
    if (!getcwd (here, sizeof (here)))
        return errtext_set (err, "%s: %s", path, strerror (errno));
    if (snprintf (dir->path, sizeof (dir->path), "%s/%s", here, path)
        >= (int)sizeof (dir->path))
        return errtext_set (err, "%s: %s", path, strerror (ENAMETOOLONG));
    return 0;
}

static int _prepare (struct logdir *dir, const char *text, char *const env[], struct errtext *err)
{
    const char *array = environment_get (env, "SLURM_ARRAY_JOB_ID");
    const struct pattern_values values = {
        .job = environment_get (env, "SLURM_JOB_ID"),
        .step = environment_get (env, "SLURM_STEP_ID"),
        .node = environment_get (env, "SLURMD_NODENAME"),
        .user = environment_get (env, "SLURM_JOB_USER"),
        .job_name = environment_get (env, "SLURM_JOB_NAME"),
        .array_job = array ? array : environment_get (env, "SLURM_JOB_ID"),
        .array_task = environment_get (env, "SLURM_ARRAY_TASK_ID"),
        .node_index = environment_get (env, "SLURM_NODEID"),
        .rank = environment_get (env, "SLURM_PROCID"),
    };
    char path[PATH_MAX];
    struct errtext why;

    if (pattern_expand (text, &values, path, sizeof (path), &why) < 0
        || _absolute (dir, path, &why) < 0 || logdir_make (dir, &why) < 0)
        return errtext_set (err, "--tf-log-dir: %s", why.text);
    return 1;
}

int output_prepare (struct logdir *dir, char *const env[], struct errtext *err)
{
    const char *text = environment_get (env, LOGDIR_VARIABLE);

    return text ? _prepare (dir, text, env, err) : 0;
}

int output_redirect (struct logdir *dir, const struct answer *answer, struct errtext *err)
{
    char name[NAME_MAX];
    int fd, rc;

    logdir_task_file (name, sizeof (name), answer->role, answer->index);
    fd = logdir_open (dir, answer->log_append, name, err);
    logdir_close (dir);
    if (fd < 0)
        return -1;
    rc = dup2 (fd, STDOUT_FILENO) < 0 || dup2 (fd, STDERR_FILENO) < 0
             ? errtext_set (err, "%s: %s", name, strerror (errno)) : 0;
    close (fd);
    return rc;
}
