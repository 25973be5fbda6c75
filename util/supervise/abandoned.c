/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "abandoned.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/helper.h"

#define NAME "tf-abandoned"
#define NEVER INT64_MAX
/* So much later than the node before; and again, at least. */
#define NODE_MS 2000
#define AGAIN_MS 15000
/* The program needs no longer to write a line, or to say that it cannot (tf-abandoned.c). */
#define FINISH_MS 7000

void abandoned_init (struct abandoned *a, const struct supervisor_config *config)
{
    static char slurm[PATH_MAX];

    *a = (struct abandoned){ .config = config, .slurm = slurm, .due = NEVER };
    if (config->options.batch_host)
        helper_find (slurm, sizeof (slurm), config->path, "scontrol");
}

bool abandoned_asks (struct abandoned *a, int64_t since, int64_t now)
{
    const struct supervisor_config *c = a->config;
    int64_t turn = c->node_index * (int64_t)NODE_MS;

    if (since == NEVER || !c->options.batch_host || strcmp (c->options.batch_host, c->node) == 0) {
        a->due = NEVER;
        return false;
    }
    if (a->due == NEVER)
        a->due = since + turn;
    if (now < a->due)
        return false;
    a->due = now + (turn > AGAIN_MS ? turn : AGAIN_MS);
    return a->program == 0;
}

/* It is in the directory of this program. */
static int _find_program (char *path, size_t size)
{
    const char *directory = helper_own_directory ();

    return directory ? helper_path (path, size, directory, NAME) : -1;
}

/*
 * Only here: srun is lost, and so may be the file system of master.log. What the program itself fails for it
 * tells in the same way (tf-abandoned).
 */
static void _tell_failure (const struct abandoned *a, const char *program, int error)
{
    syslog (
        LOG_USER | LOG_ERR,
        "spank_tf: step %s: %s may have died with the batch script, and %s cannot be started: %s; the job "
        "may hold its nodes until its time limit",
        a->config->step, a->config->options.batch_host, program, strerror (error));
}

/* 0, or an error number. */
static int _spawn (struct abandoned *a, char *program)
{
    const struct supervisor_config *c = a->config;
    char path[PATH_MAX + 64], conf[PATH_MAX + 16], log[PATH_MAX], first[] = "first", name[] = NAME;
    char *const argv[] = { name,
                           (char *)(uintptr_t)c->options.if_abandoned,
                           (char *)(uintptr_t)c->step,
                           (char *)(uintptr_t)c->options.batch_host,
                           log,
                           a->attempts == 1 ? first : NULL,
                           NULL };
    char *const environment[] = { path, c->slurm_conf ? conf : NULL, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int error;

    snprintf (path, sizeof (path), "PATH=%s%s/usr/local/bin:/usr/bin:/bin", a->slurm, *a->slurm ? ":" : "");
    snprintf (conf, sizeof (conf), "SLURM_CONF=%s", c->slurm_conf ? c->slurm_conf : "");
    snprintf (log, sizeof (log), "%s", c->log ? c->log : "");
    sigemptyset (&none);
    sigfillset (&all);
    posix_spawnattr_init (&attr);
    posix_spawnattr_setsigmask (&attr, &none);
    posix_spawnattr_setsigdefault (&attr, &all);
    posix_spawnattr_setflags (&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init (&actions);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen (&actions, fd, "/dev/null", O_RDWR, 0);
    error = posix_spawn (&a->program, program, &actions, &attr, argv, environment);
    posix_spawn_file_actions_destroy (&actions);
    posix_spawnattr_destroy (&attr);
    return error;
}

void abandoned_start (struct abandoned *a)
{
    char program[PATH_MAX] = NAME;
    int error;

    a->attempts++;
    error = _find_program (program, sizeof (program)) < 0 ? ENAMETOOLONG : _spawn (a, program);
    if (error)
        a->program = 0;
    if (error && a->attempts == 1)
        _tell_failure (a, program, error);
}

void abandoned_finish (struct abandoned *a)
{
    struct deadline deadline = deadline_in_ms (FINISH_MS);

    while (a->program && waitpid (a->program, NULL, WNOHANG) == 0 && !deadline_passed (deadline))
        poll (NULL, 0, 10);
}
