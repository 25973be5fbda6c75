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
#include <sys/socket.h>
#include <unistd.h>

#include "common/descriptors.h"
#include "task_abort.h"

/* Leave only stdin, stdout, stderr and these, under the numbers of enum supervisor_fd. -1: it has none. */
static int _arrange_descriptors (int rendezvous, int lives, const struct output *output, bool watched,
                                 int config)
{
    int fd[] = { rendezvous,
                 lives,
                 output->log,
                 output->tee ? output->reading[0] : -1,
                 output->tee ? output->reading[1] : -1,
                 watched ? output->watch : -1,
                 config };
    const int count = (int)(sizeof (fd) / sizeof (fd[0]));

    /* Out of the way of the numbers that they are to get. */
    for (int i = 0; i < count; i++)
        if (fd[i] >= 0 && (fd[i] = fcntl (fd[i], F_DUPFD_CLOEXEC, SUPERVISOR_LAST_FD + 1)) < 0)
            return -1;
    for (int i = 0; i < count; i++)
        if (fd[i] < 0)
            close (SUPERVISOR_RENDEZVOUS_FD + i);
        /* gcc -fanalyzer is wrong: tf-supervise inherits it. */
        else if (dup2 (fd[i], SUPERVISOR_RENDEZVOUS_FD + i) < 0)
            return -1;
    descriptors_close_above (SUPERVISOR_LAST_FD);
    return 0;
}

static void __attribute__ ((noreturn)) _become_supervisor (const char *path,
                                                           const struct supervisor_config *config,
                                                           int rendezvous, int lives,
                                                           const struct output *output)
{
    char *const argv[] = { (char *)(uintptr_t)"tf-supervise", (char *)(uintptr_t)config->step, NULL };
    char *const no_environment[] = { NULL };
    struct frame *frame = fields_frame (&supervisor_config_fields, config);
    struct errtext err;
    int file;

    if (!frame)
        errno = ENOMEM;
    else if ((file = frame_store (frame, "supervisor")) >= 0
             && _arrange_descriptors (rendezvous, lives, output, config->watch.seconds > 0, file) == 0) {
        rendezvous = SUPERVISOR_RENDEZVOUS_FD;
        execve (path, argv, no_environment);
    }
    errtext_set (&err, "%s: %s", path, strerror (errno));
    frame_destroy (frame);
    task_abort_report (rendezvous, config->node, err.text);
}

int supervisor_start (const char *path, struct supervisor_config *config, int fd, const struct output *output,
                      struct fork_server *server, struct errtext *err)
{
    sigset_t all;
    int pair[2];

    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return errtext_set (err, "%s: %s", path, strerror (errno));
    server->supervisor = getpid ();
    server->requests = pair[1];
    /* From now on processes that the task starts and abandons become the supervisor's children. */
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    /* Signals wait until tf-supervise reads them, and until the first life goes on. */
    sigfillset (&all);
    sigprocmask (SIG_SETMASK, &all, &server->mask);
    if ((config->fork_server = fork ()) > 0)
        _become_supervisor (path, config, fd, pair[0], output);
    close (pair[0]);
    if (config->fork_server == 0)
        return 0;
    errtext_set (err, "%s: %s", path, strerror (errno));
    sigprocmask (SIG_SETMASK, &server->mask, NULL);
    close (pair[1]);
    return -1;
}
