/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "signal_fd.h"

#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

int signal_fd_open (void)
{
    sigset_t all;

    sigfillset (&all);
    /* While it is ignored, wait () does not learn how a child ended. */
    signal (SIGCHLD, SIG_DFL);
    sigprocmask (SIG_SETMASK, &all, NULL);
    return signalfd (-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * Did slurmstepd, the parent, send this signal? The terminal's signals, and those to the process
 * group, reach the program too, because it is in the same group.
 */
static bool _is_from_slurm (const struct signalfd_siginfo *info)
{
    if (info->ssi_code != SI_USER && info->ssi_code != SI_QUEUE && info->ssi_code != SI_TKILL)
        return false;
    return (pid_t)info->ssi_pid == getppid ();
}

bool signal_fd_read (int fd, struct signal *signal)
{
    struct signalfd_siginfo info;

    if (read (fd, &info, sizeof (info)) != sizeof (info))
        return false;
    *signal = (struct signal){ .number = (int)info.ssi_signo,
                               .from_slurm = _is_from_slurm (&info),
                               .from_terminal = info.ssi_code == SI_KERNEL,
                               .queued = info.ssi_code == SI_QUEUE,
                               .value = (void *)(uintptr_t)info.ssi_ptr,
                               .at = time (NULL) };
    return true;
}
