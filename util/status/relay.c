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
#include <unistd.h>

#include "common/child.h"
#include "common/deadline.h"
#include "common/descriptors.h"
#include "common/helper.h"

/* How long srun may take to end: nodes may not answer. */
#define END_MS 3000

/* Of what it prints in a round, in bytes; and of a read. */
#define TEXT_MOST ((size_t)64 * 1024 * 1024)
#define PIECE 65536

#define MOST_WORDS (20 + RELAY_WORDS)

/* In the child. */

/*
 * What srun takes from its environment is about another step: that of the caller, with its list perhaps, or
 * tf-run's options. A process of the user does not get root's token, the last of these: he could read it.
 */
static void _forget_environment (bool is_users)
{
    static const char *const kept[] = { "PATH=",       "LD_LIBRARY_PATH=",   "HOME=",
                                        "SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_JWT=" };
    const size_t count = sizeof (kept) / sizeof (kept[0]) - is_users;
    char **to = environ;

    for (char **from = environ; *from; from++)
        for (size_t i = 0; i < count; i++)
            if (strncmp (*from, kept[i], strlen (kept[i])) == 0)
                *to++ = *from;
    *to = NULL;
}

/* He could use root's working directory, too. */
static int _become_user (const struct job_info *job)
{
    return chdir ("/") < 0 || setgroups (0, NULL) < 0 || setgid (job->gid) < 0 || setuid (job->uid) < 0 ? -1
                                                                                                        : 0;
}

static void _execute_srun (const struct job_info *job, const char *list, int count, const char *const *words)
{
    const char *program = helper_started_file ();
    char id[32], group[32], number[32], tasks[32];
    const char *argv[MOST_WORDS + 1] = {
        "srun",         "--quiet",   "--overlap",           "--job-name=tf-status",
        "--input=none", "--chdir=/", "--ntasks-per-node=1", id,
        number,         tasks
    };
    int used = 10;

    snprintf (id, sizeof (id), "--jobid=%u", job->leader);
    snprintf (number, sizeof (number), "--nodes=%d", count);
    snprintf (tasks, sizeof (tasks), "--ntasks=%d", count);
    snprintf (group, sizeof (group), "--het-group=%d", job->component);
    if (job->component >= 0)
        argv[used++] = group;
    if (list) {
        argv[used++] = "--nodelist";
        argv[used++] = list;
    }
    argv[used++] = program;
    /* A file with all programs needs the name of one (util/static). */
    if (program && strcmp (strrchr (program, '/'), "/tf-status") != 0)
        argv[used++] = "tf-status";
    while (*words && used < MOST_WORDS)
        argv[used++] = *words++;
    if (program)
        execvp (argv[0], (char *const *)(uintptr_t)argv);
}

static void _execute (const struct job_info *job, const char *list, int count, const char *const *words,
                      pid_t parent)
{
    bool is_users = geteuid () == 0 && job->uid != 0;

    /* Ctrl-C is for the parent, with whose end srun gets the signal, unless it becomes the user later. */
    setsid ();
    if (is_users && _become_user (job) < 0)
        return;
    prctl (PR_SET_PDEATHSIG, SIGTERM);
    if (getppid () != parent)
        return;
    _forget_environment (is_users);
    _execute_srun (job, list, count, words);
    dprintf (STDERR_FILENO, "srun cannot be executed here\n");
}

/* In the parent. */

int relay_begin (struct relay *relay, const struct job_info *job, const char *list, int count,
                 const char *const *words, struct errtext *err)
{
    pid_t parent = getpid ();
    int end[2];

    *relay = (struct relay){ .fd = -1, .errors = descriptors_memory_file ("srun", "", 0) };
    if (pipe2 (end, O_CLOEXEC) == 0) {
        relay->fd = end[0];
        if ((relay->srun = child_fork ("srun", (int[]){ -1, end[1], relay->errors }, 3)) == 0) {
            _execute (job, list, count, words, parent);
            _exit (1);
        }
        close (end[1]);
    }
    if (relay->srun > 0)
        return 0;
    errtext_set (err, "%s", strerror (errno));
    relay_end (relay);
    return -1;
}

/* These bytes of what was read, and then forget so many. */
static char *_take (struct relay *relay, size_t length, size_t with_mark)
{
    char *text = strndup (relay->text ? relay->text : "", length);

    relay->used -= with_mark;
    if (relay->used > 0)
        memmove (relay->text, relay->text + with_mark, relay->used);
    return text;
}

/* False at its end, if it has not said more by then, or if it says too much. */
static bool _read_more (struct relay *relay, struct deadline deadline)
{
    char *more;
    ssize_t n;

    if (relay->used > TEXT_MOST || !deadline_wait (relay->fd, POLLIN, deadline)
        || !(more = realloc (relay->text, relay->used + PIECE)))
        return false;
    relay->text = more;
    n = read (relay->fd, more + relay->used, PIECE);
    relay->used += n > 0 ? (size_t)n : 0;
    relay->over = relay->over || n == 0;
    return n > 0;
}

char *relay_read (struct relay *relay, bool all, struct deadline deadline)
{
    const size_t mark = sizeof (RELAY_MARK) - 1;
    const char *found = NULL;

    while ((all || relay->used == 0 || !(found = memmem (relay->text, relay->used, RELAY_MARK, mark)))
           && _read_more (relay, deadline))
        ;
    if (found)
        return _take (relay, (size_t)(found - relay->text), (size_t)(found - relay->text) + mark);
    return all ? _take (relay, relay->used, relay->used) : NULL;
}

void relay_why (const struct relay *relay, const char *otherwise, char *buf, size_t size)
{
    if (!descriptors_first_line (relay->errors, buf, size))
        snprintf (buf, size, "%s", otherwise);
}

void relay_end (struct relay *relay)
{
    /* It ends when it has said all. */
    if (relay->srun > 0 && !child_await (relay->srun, NULL, deadline_in_ms (relay->over ? END_MS : 0))) {
        kill (relay->srun, SIGTERM);
        if (!child_await (relay->srun, NULL, deadline_in_ms (END_MS)))
            kill (relay->srun, SIGKILL);
    }
    if (relay->fd >= 0)
        close (relay->fd);
    if (relay->errors >= 0)
        close (relay->errors);
    free (relay->text);
    *relay = (struct relay){ .fd = -1, .errors = -1 };
}
