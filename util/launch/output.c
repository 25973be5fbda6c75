/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/pattern.h"
#include "common/variables.h"

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
    if (snprintf (dir->path, sizeof (dir->path), "%s/%s", here, path) >= (int)sizeof (dir->path))
        return errtext_set (err, "%s: %s", path, strerror (ENAMETOOLONG));
    return 0;
}

int output_prepare (struct logdir *dir, const char *text, char *const env[], struct errtext *err)
{
    const char *array = variable_get (env, "SLURM_ARRAY_JOB_ID");
    const struct pattern_values values = {
        .job = variable_get (env, "SLURM_JOB_ID"),
        .step = variable_get (env, "SLURM_STEP_ID"),
        .node = variable_get (env, "SLURMD_NODENAME"),
        .user = variable_get (env, "SLURM_JOB_USER"),
        .job_name = variable_get (env, "SLURM_JOB_NAME"),
        .array_job = array ? array : variable_get (env, "SLURM_JOB_ID"),
        .array_task = variable_get (env, "SLURM_ARRAY_TASK_ID"),
    };
    char path[PATH_MAX];
    struct errtext why;

    if (pattern_expand (text, &values, path, sizeof (path), &why) < 0 || _absolute (dir, path, &why) < 0
        || logdir_make (dir, &why) < 0)
        return errtext_set (err, "--tf-log-dir: %s", why.text);
    return 0;
}

int output_open (struct output_paths *paths, struct logdir *dir, const struct answer *answer,
                 const char *step, struct errtext *err)
{
    char name[NAME_MAX];
    int fd;

    paths->error_file[0] = '\0';
    if (logdir_is_own (dir)) {
        snprintf (paths->error_file, sizeof (paths->error_file), "%s/%s", dir->path,
                  logdir_task_file (name, sizeof (name), answer->role, answer->index, LOGDIR_ERROR));
        /* Here, too: a container of the task perhaps does not see it. */
        unlink (paths->error_file);
    }
    snprintf (paths->log, sizeof (paths->log), "%s/%s", dir->path,
              logdir_task_file (name, sizeof (name), answer->role, answer->index, LOGDIR_OUTPUT));
    fd = logdir_open (dir, answer->log_append, name, err);
    if (fd >= 0 && answer->log_append)
        logdir_begin (fd, step, 0, NULL);
    logdir_close (dir);
    return fd;
}

int output_tee (struct output *output, struct errtext *err)
{
    int pair[2];

    for (int i = 0; i < 2; i++) {
        if (pipe2 (pair, O_CLOEXEC) < 0)
            return errtext_set (err, "no pipe for --tf-tee: %s", strerror (errno));
        output->reading[i] = pair[0];
        output->writing[i] = pair[1];
    }
    output->tee = true;
    return 0;
}

void output_redirect (const struct output *output)
{
    if (output->log < 0)
        return;
    dup2 (output->tee ? output->writing[0] : output->log, STDOUT_FILENO);
    dup2 (output->tee ? output->writing[1] : output->log, STDERR_FILENO);
    close (output->log);
    for (int i = 0; i < 2 && output->tee; i++) {
        close (output->reading[i]);
        close (output->writing[i]);
    }
}
