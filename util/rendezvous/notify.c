/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "notify.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/deadline.h"
#include "common/descriptors.h"

/* After SIGKILL. A process that hangs in the kernel may never end. */
#define KILL_MS 1000

#define PROGRAM_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The descriptors of tf-notify: the pipe of the event before, and that of this one. */
#define BEFORE_FD STDIN_FILENO
#define END_FD 3

/* What srun's environment may have. */
#define ENVIRONMENT_MOST ((size_t)4 * 1024 * 1024)

struct notifier {
    const char *program; /* or NULL */
    char **environment, *directory; /* NULL: it has none of the user's */
    /* The processes that have not ended, as far as tf-rendezvous knows. */
    pid_t process[NOTIFY_MOST + 1];
    int processes;
    /* A pipe on which nothing is written: at its end-of-file the last one of them has ended; or -1. */
    int last_end;
    bool last_runs; /* that is the last event's, as far as it knows */
};

static struct notifier notifiers[2] = { { .last_end = -1 }, { .last_end = -1 } };

/* tf-run's srun knows its step only when it has started. */
static char job_id[48], step_id[48];

/* The user's environment. */

/* What /proc has of srun; NULL if that is not known. */
static char *_read_environment (pid_t srun, size_t *length)
{
    char path[64], *block = malloc (ENVIRONMENT_MOST + 1);
    ssize_t n = 1;
    int fd;

    snprintf (path, sizeof (path), "/proc/%d/environ", (int)srun);
    *length = 0;
    if (!block || (fd = open (path, O_RDONLY | O_CLOEXEC)) < 0) {
        free (block);
        return NULL;
    }
    while (*length < ENVIRONMENT_MOST && (n = read (fd, block + *length, ENVIRONMENT_MOST - *length)) > 0)
        *length += (size_t)n;
    close (fd);
    block[*length] = '\0';
    return block;
}

/* Its variables, and which job and step these events are of. */
static char **_variables (char *block, size_t length)
{
    char **variable = NULL, *end = block + length;
    size_t count = 2;

    for (const char *at = block; at < end; at += strlen (at) + 1)
        count++;
    if (!(variable = calloc (count + 1, sizeof (*variable))))
        return NULL;
    count = 0;
    variable[count++] = job_id;
    variable[count++] = step_id;
    for (char *at = block; at < end; at += strlen (at) + 1)
        if (strncmp (at, "SLURM_JOB_ID=", 13) != 0 && strncmp (at, "SLURM_STEP_ID=", 14) != 0
            && strncmp (at, "SLURM_TF_RENDEZVOUS=", 20) != 0)
            variable[count++] = at;
    return variable;
}

static char *_read_directory (pid_t srun)
{
    char path[64], directory[PATH_MAX];
    ssize_t length;

    snprintf (path, sizeof (path), "/proc/%d/cwd", (int)srun);
    length = readlink (path, directory, sizeof (directory) - 1);
    directory[length > 0 ? length : 0] = '\0';
    return strdup (directory);
}

void notify_begin (const char *site, const char *user, pid_t srun)
{
    struct notifier *own = &notifiers[1];
    size_t length;
    char *block;

    notifiers[0].program = site;
    own->program = NULL;
    if (!user || !(block = _read_environment (srun, &length)))
        return;
    own->environment = _variables (block, length);
    own->directory = _read_directory (srun);
    own->program = own->environment && own->directory ? user : NULL;
}

/* tf-notify. */

static void _await_end_of_file (int fd)
{
    char byte;

    while (read (fd, &byte, 1) < 0 && errno == EINTR)
        ;
}

/* As tf-rendezvous, the site's has no variable of the user's. */
static noreturn void _execute (const struct notifier *n, int file)
{
    char *const argv[] = { (char *)(uintptr_t)n->program, NULL };
    char *const no_env[] = { (char *)(uintptr_t)PROGRAM_PATH, NULL };
    sigset_t none;

    /* If it hangs in the kernel, it does not keep the next event waiting. */
    close (END_FD);
    setsid ();
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    signal (SIGPIPE, SIG_DFL);
    signal (SIGTERM, SIG_DFL);
    if (chdir (n->directory ? n->directory : "/") < 0 && chdir ("/") < 0)
        _exit (127);
    if (dup2 (file, STDIN_FILENO) == STDIN_FILENO)
        execve (n->program, argv, n->environment ? n->environment : no_env);
    _exit (127);
}

/* Its process stays a zombie, so that no other one can get its number. */
static bool _has_ended (pid_t pid, int ms, const sigset_t *sigchld)
{
    struct deadline deadline = deadline_in_ms (ms);

    for (;;) {
        siginfo_t info = { .si_pid = 0 };
        int left = deadline_left_ms (deadline);
        struct timespec time = { left / 1000, left % 1000 * 1000000L };

        if (waitid (P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid)
            return true;
        if (left == 0)
            return false;
        sigtimedwait (sigchld, NULL, &time);
    }
}

static noreturn void _notify (const struct notifier *n, const char *text)
{
    sigset_t sigchld;
    pid_t pid;
    int file;

    sigemptyset (&sigchld);
    sigaddset (&sigchld, SIGCHLD);
    sigprocmask (SIG_BLOCK, &sigchld, NULL);
    _await_end_of_file (BEFORE_FD);
    /* A program that does not read a file cannot keep its writer waiting. */
    if ((file = descriptors_memory_file ("event", text, strlen (text))) < 0 || lseek (file, 0, SEEK_SET) < 0)
        _exit (1);
    if ((pid = fork ()) == 0)
        _execute (n, file);
    if (pid > 0) {
        bool ended = _has_ended (pid, NOTIFY_SECONDS * 1000, &sigchld);

        kill (-pid, SIGKILL);
        if (!ended)
            _has_ended (pid, KILL_MS, &sigchld);
    }
    _exit (0);
}

/* tf-rendezvous. */

static void _reap (struct notifier *n)
{
    int left = 0;

    for (int i = 0; i < n->processes; i++)
        if (waitpid (n->process[i], NULL, WNOHANG) == 0)
            n->process[left++] = n->process[i];
    n->processes = left;
}

static void _start_notifier (struct notifier *n, const char *text, bool last)
{
    int end[2];
    pid_t pid;

    _reap (n);
    if (n->processes >= NOTIFY_MOST + last || pipe2 (end, O_CLOEXEC) < 0)
        return;
    /* A pipe of srun's that is kept open, also as stdout or stderr, would keep its reader waiting. */
    if ((pid = child_fork ("tf-notify", (int[]){ n->last_end, -1, -1, end[1] }, 4)) == 0)
        _notify (n, text);
    close (end[1]);
    if (pid < 0) {
        close (end[0]);
        return;
    }
    if (n->last_end >= 0)
        close (n->last_end);
    n->last_end = end[0];
    n->last_runs = last;
    n->process[n->processes++] = pid;
}

void notify_event (const char *step, const char *text, bool last)
{
    size_t job = strcspn (step, ".");

    snprintf (job_id, sizeof (job_id), "SLURM_JOB_ID=%.*s", (int)job, step);
    snprintf (step_id, sizeof (step_id), "SLURM_STEP_ID=%.20s", step[job] ? step + job + 1 : "");
    for (struct notifier *n = notifiers; n < notifiers + 2; n++)
        if (n->program)
            _start_notifier (n, text, last);
}

bool notify_has_last (void)
{
    bool runs = false;

    for (struct notifier *n = notifiers; n < notifiers + 2; n++) {
        struct pollfd end = { .fd = n->last_end, .events = POLLIN };

        n->last_runs = n->last_runs && poll (&end, 1, 0) == 0;
        runs = runs || n->last_runs;
    }
    return runs;
}
