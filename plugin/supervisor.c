/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "common/descriptors.h"
#include "task_abort.h"

#define MAX_VARIABLES 24

int supervisor_find (char *path, size_t size, const char *libexecdir, struct errtext *err)
{
    if (snprintf (path, size, "%s/tf-supervise", libexecdir) >= (int)size)
        return errtext_set (err, "libexecdir= is too long");
    if (access (path, X_OK) < 0)
        return errtext_set (err, "%s: %s", path, strerror (errno));
    return 0;
}

/* Leave only stdin, stdout, stderr and fd[first..last], which get their indices as numbers. */
static int _arrange_descriptors (int *fd, int first, int last)
{
    /* Out of the way of the numbers that they are to get. */
    for (int i = first; i <= last; i++)
        if ((fd[i] = fcntl (fd[i], F_DUPFD_CLOEXEC, last + 1)) < 0)
            return -1;
    for (int i = first; i <= last; i++)
        if (dup2 (fd[i], i) < 0)
            return -1;
    descriptors_close_above (last);
    return 0;
}

static void __attribute__ ((noreturn))
_become_supervisor (const char *path, const struct supervisor_config *config, int rendezvous,
                    int ready, const struct supervisor_keeps *keeps)
{
    bool restarts = config->restart.times > 0;
    int fd[] = {
        [SUPERVISOR_RENDEZVOUS_FD] = rendezvous, [SUPERVISOR_READY_FD] = ready,
        [SUPERVISOR_MESSAGES_FD] = restarts ? keeps->messages : -1,
        [SUPERVISOR_PORT_FD] = restarts ? keeps->port : -1,
    };
    char *const argv[] = { (char *)(uintptr_t)"tf-supervise", (char *)(uintptr_t)config->step,
                           NULL };
    char *env[MAX_VARIABLES + 1] = { NULL };
    struct frame *variables = supervisor_config_encode (config);
    const char *variable = NULL;
    struct errtext err;
    size_t length;

    if (!variables || !frame_bytes (variables, 0, &length))
        errno = ENOMEM;
    else if (_arrange_descriptors (fd, SUPERVISOR_RENDEZVOUS_FD,
                                   supervisor_config_last_fd (config)) == 0) {
        rendezvous = SUPERVISOR_RENDEZVOUS_FD;
        for (int i = 0; i < MAX_VARIABLES && (variable = frame_next (variables, variable)); i++)
            env[i] = (char *)(uintptr_t)variable;
        execve (path, argv, env);
    }
    errtext_set (&err, "%s: %s", path, strerror (errno));
    task_abort_report (rendezvous, config->node, err.text);
}

/*
 * The task waits until tf-supervise runs. End-of-file means that it never will: it was killed, or
 * could not be loaded.
 */
static void _await_supervisor (pid_t parent, int ready)
{
    char byte;
    ssize_t n;

    /* In this order, or the parent's death between the two would go unnoticed. */
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent)
        _exit (1);
    while ((n = read (ready, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1)
        _exit (1);
}

/*
 * slurmstepd 24.11 and later have handlers for most signals, which would do nothing in the task's
 * process; exec removes them. A signal that arrives before exec must not be lost. SIGPIPE stays
 * harmless for what Slurm still does there.
 */
static void _remove_handlers (void)
{
    struct sigaction now;

    for (int sig = 1; sig <= SIGRTMAX; sig++)
        if (sig != SIGPIPE && sigaction (sig, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal (sig, SIG_DFL);
}

/*
 * Ask to be traced to the exec of the program: tf-supervise reads there what it needs to start it
 * again. If the kernel does not allow that, the program runs all the same.
 */
static void _be_traced (void)
{
    if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) == 0)
        raise (SIGSTOP);
}

int supervisor_start (const char *path, struct supervisor_config *config, int fd,
                      const struct supervisor_keeps *keeps, struct errtext *err)
{
    pid_t parent = getpid ();
    sigset_t all, mask;
    int pipe_end[2], saved;

    if (pipe2 (pipe_end, O_CLOEXEC) < 0)
        return errtext_set (err, "%s: %s", path, strerror (errno));
    /* From now on processes that the task starts and abandons become the supervisor's children. */
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    /* Signals wait until tf-supervise reads them, and until the task goes on. */
    sigfillset (&all);
    sigprocmask (SIG_SETMASK, &all, &mask);
    if ((config->task = fork ()) > 0)
        _become_supervisor (path, config, fd, pipe_end[1], keeps);
    saved = errno;
    close (pipe_end[1]);
    if (config->task == 0) {
        _await_supervisor (parent, pipe_end[0]);
        _remove_handlers ();
        if (config->restart.times > 0)
            _be_traced ();
    }
    close (pipe_end[0]);
    sigprocmask (SIG_SETMASK, &mask, NULL);
    return config->task < 0 ? errtext_set (err, "%s: %s", path, strerror (saved)) : 0;
}
