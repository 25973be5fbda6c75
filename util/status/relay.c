/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/deadline.h"
#include "common/descriptors.h"
#include "protocol/overview.h"

/* Between two looks whether srun has ended, and how long it may take: nodes may not answer. */
#define LOOK_MS 10
#define END_MS 3000

#define MOST_WORDS (20 + RELAY_WORDS)

/* In the child. */

/*
 * What srun takes from its environment is about another step: that of the caller, with its list perhaps, or
 * tf-run's options.
 */
static void _forget_steps (void)
{
    extern char **environ;
    static const char kept[] = "SLURM_CONF=";

    for (char **variable = environ; *variable;) {
        char name[256];
        size_t length = strcspn (*variable, "=");
        bool ours = strncmp (*variable, "SLURM_", 6) == 0 || strncmp (*variable, "SRUN_", 5) == 0;

        if (!ours || strncmp (*variable, kept, sizeof (kept) - 1) == 0 || length >= sizeof (name)) {
            variable++;
            continue;
        }
        snprintf (name, sizeof (name), "%.*s", (int)length, *variable);
        unsetenv (name);
        variable = environ;
    }
}

/* Root's environment is not for a process of the user, nor for a step of the job. */
static void _forget_all (void)
{
    const char *path = getenv ("PATH"), *conf = getenv ("SLURM_CONF");
    char *kept_path = path ? strdup (path) : NULL, *kept_conf = conf ? strdup (conf) : NULL;

    clearenv ();
    if (kept_path)
        setenv ("PATH", kept_path, 1);
    if (kept_conf)
        setenv ("SLURM_CONF", kept_conf, 1);
    free (kept_path);
    free (kept_conf);
}

static int _become_user (const struct job_info *job)
{
    if (geteuid () != 0 || job->uid == 0)
        return 0;
    _forget_all ();
    return setgroups (0, NULL) < 0 || setgid (job->gid) < 0 || setuid (job->uid) < 0 ? -1 : 0;
}

/* A file with all programs needs the name of one (util/static). */
static const char *_program (char *self, size_t size, const char **name)
{
    ssize_t length = readlink ("/proc/self/exe", self, size - 1);
    const char *base;

    *name = NULL;
    if (length < 0)
        return NULL;
    self[length] = '\0';
    base = strrchr (self, '/');
    if (!base || strcmp (base + 1, "tf-status") != 0)
        *name = "tf-status";
    return self;
}

struct nodes {
    const char *list; /* NULL: Slurm takes the first ones */
    int count;
};

static void _execute_srun (const struct job_info *job, const struct nodes *nodes, const char *const *words)
{
    static char self[4096];
    char id[32], group[32], number[32], tasks[32];
    const char *name, *program = _program (self, sizeof (self), &name);
    const char *argv[MOST_WORDS + 1] = {
        "srun",         "--quiet",   "--overlap",           "--job-name=tf-status",
        "--input=none", "--chdir=/", "--ntasks-per-node=1", id,
        number,         tasks
    };
    int used = 10;

    snprintf (id, sizeof (id), "--jobid=%d", job->leader);
    snprintf (number, sizeof (number), "--nodes=%d", nodes->count);
    snprintf (tasks, sizeof (tasks), "--ntasks=%d", nodes->count);
    snprintf (group, sizeof (group), "--het-group=%d", job->component);
    if (job->component >= 0)
        argv[used++] = group;
    if (nodes->list) {
        argv[used++] = "--nodelist";
        argv[used++] = nodes->list;
    }
    argv[used++] = program;
    if (name)
        argv[used++] = name;
    while (*words && used < MOST_WORDS)
        argv[used++] = *words++;
    if (program)
        execvp (argv[0], (char *const *)(uintptr_t)argv);
}

static void _execute (const struct job_info *job, const struct nodes *nodes, const char *const *words,
                      pid_t parent)
{
    /* Ctrl-C is for this one's parent, with whose end srun gets the signal. */
    setsid ();
    prctl (PR_SET_PDEATHSIG, SIGTERM);
    if (getppid () != parent || _become_user (job) < 0)
        return;
    _forget_steps ();
    _execute_srun (job, nodes, words);
    dprintf (STDERR_FILENO, "srun cannot be executed here\n");
}

/* In the parent. */

int relay_begin (struct relay *relay, const struct job_info *job, const char *list, int count,
                 const char *const *words, struct errtext *err)
{
    const struct nodes nodes = { list, count };
    pid_t parent = getpid ();
    int pair[2];

    *relay = (struct relay){ .fd = -1, .errors = descriptors_memory_file ("srun", "", 0) };
    relay->reader.ceiling = OVERVIEW_MAX_ANSWER;
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
        relay->fd = pair[0];
        if ((relay->srun = child_fork ("srun", (int[]){ -1, pair[1], relay->errors }, 3)) == 0) {
            _execute (job, &nodes, words, parent);
            _exit (1);
        }
        close (pair[1]);
        fcntl (relay->fd, F_SETFL, O_NONBLOCK);
    }
    if (relay->srun > 0)
        return 0;
    errtext_set (err, "%s", strerror (errno));
    relay_end (relay);
    return -1;
}

int relay_why (const struct relay *relay, const char *otherwise, struct errtext *err)
{
    char text[300];
    ssize_t length = pread (relay->errors, text, sizeof (text) - 1, 0);

    text[length > 0 ? length : 0] = '\0';
    text[strcspn (text, "\n")] = '\0';
    return errtext_set (err, "%s", *text ? text : otherwise);
}

/* It ends when it has said all. */
static bool _has_ended (pid_t srun, int ms)
{
    struct deadline deadline = deadline_in_ms (ms);

    while (waitpid (srun, NULL, WNOHANG) == 0) {
        if (deadline_passed (deadline))
            return false;
        poll (NULL, 0, LOOK_MS);
    }
    return true;
}

void relay_end (struct relay *relay)
{
    if (relay->srun > 0 && !_has_ended (relay->srun, relay->over ? END_MS : 0)) {
        kill (relay->srun, SIGTERM);
        if (!_has_ended (relay->srun, END_MS))
            kill (relay->srun, SIGKILL);
    }
    if (relay->fd >= 0)
        close (relay->fd);
    if (relay->errors >= 0)
        close (relay->errors);
    frame_reader_clear (&relay->reader);
    *relay = (struct relay){ .fd = -1, .errors = -1 };
}
