/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"

/* After SIGKILL. */
#define KILL_MS 1000

/* Above `count` first, so that none is overwritten before it has been copied. */
static void _keep_only (const int fd[], int count, int null)
{
    int high[CHILD_MAX_FDS];

    for (int i = 0; i < count; i++)
        high[i] = fcntl (fd[i] < 0 ? null : fd[i], F_DUPFD, count);
    for (int i = 0; i < count; i++)
        dup2 (high[i], i);
    descriptors_close_above (count - 1);
}

pid_t child_fork (const char *name, const int fd[], int count)
{
    int null = open ("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid = null < 0 ? -1 : fork ();

    if (pid == 0) {
        prctl (PR_SET_NAME, name);
        _keep_only (fd, count, null);
    } else if (null >= 0)
        close (null);
    return pid;
}

/* Up to end-of-file. -1 if it is too much, or takes too long. */
static ssize_t _read_to_the_end (int fd, char *answer, size_t size, struct deadline deadline)
{
    size_t used = 0;
    char more;

    while (deadline_wait (fd, POLLIN, deadline)) {
        ssize_t n = used < size ? read (fd, answer + used, size - used) : read (fd, &more, 1);

        if (n == 0)
            return (ssize_t)used;
        if (n < 0 || used == size)
            return -1;
        used += (size_t)n;
    }
    return -1;
}

bool child_await (pid_t child, int *status, struct deadline deadline)
{
    pid_t ended;

    while ((ended = waitpid (child, status, WNOHANG)) == 0 && !deadline_passed (deadline))
        poll (NULL, 0, 1);
    return ended != 0;
}

/* Read what it writes, and wait for it. */
static ssize_t _await_answer (pid_t child, int fd, void *answer, size_t size, int ms)
{
    struct deadline deadline = deadline_in_ms (ms);
    ssize_t length = _read_to_the_end (fd, answer, size, deadline);
    int status = -1;

    if (length < 0 || !child_await (child, &status, deadline)) {
        kill (child, SIGKILL);
        child_await (child, &status, deadline_in_ms (KILL_MS));
    }
    return status == 0 ? length : -1;
}

ssize_t child_ask (const char *name, child_work *work, void *arg, int errors, void *answer, size_t size,
                   int ms)
{
    pid_t parent = getpid (), child;
    ssize_t length = -1;
    int end[2];

    if (pipe2 (end, O_CLOEXEC) < 0)
        return -1;
    if ((child = child_fork (name, (int[]){ -1, end[1], errors }, 3)) == 0) {
        /* In this order, or the parent's death between the two would go unnoticed. */
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        _exit (getppid () == parent ? work (arg) : 1);
    }
    close (end[1]);
    if (child > 0)
        length = _await_answer (child, end[0], answer, size, ms);
    close (end[0]);
    return length;
}

static int _become_command (void *words)
{
    char *const *argv = words;

    execvp (argv[0], argv);
    dprintf (STDERR_FILENO, "%s: %m", argv[0]);
    return 127;
}

static int _become_complaining (void *words)
{
    dup2 (STDOUT_FILENO, STDERR_FILENO);
    return _become_command (words);
}

int child_command (const char *const argv[], bool complains, char *answer, size_t size, int ms)
{
    child_work *work = complains ? _become_complaining : _become_command;

    memset (answer, 0, size);
    return child_ask (argv[0], work, (void *)(uintptr_t)argv, -1, answer, size - 1, ms) < 0 ? -1 : 0;
}
