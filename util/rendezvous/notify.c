/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "notify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
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

/* In tf-rendezvous: the processes that have not ended, as far as it knows. */
static pid_t notifier[NOTIFY_MOST + 1];
static int notifiers;
/* A pipe on which nothing is written: at its end-of-file the last one of them has ended; or -1. */
static int last_end = -1;
static bool last_runs;          /* that is the last event's, as far as it knows */

/* tf-notify. */

static void _await_end_of_file (int fd)
{
    char byte;

    while (read (fd, &byte, 1) < 0 && errno == EINTR)
        ;
}

/* As tf-rendezvous, it has no variable of the user's. */
static noreturn void _execute (const char *program, int file)
{
    char *const argv[] = { (char *)(uintptr_t)program, NULL };
    char *const env[] = { (char *)(uintptr_t)PROGRAM_PATH, NULL };
    sigset_t none;

    /* If it hangs in the kernel, it does not keep the next event waiting. */
    close (END_FD);
    setsid ();
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    signal (SIGPIPE, SIG_DFL);
    signal (SIGTERM, SIG_DFL);
    if (dup2 (file, STDIN_FILENO) == STDIN_FILENO && chdir ("/") == 0)
        execve (program, argv, env);
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

static noreturn void _notify (const char *program, const char *text)
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
        _execute (program, file);
    if (pid > 0) {
        bool ended = _has_ended (pid, NOTIFY_SECONDS * 1000, &sigchld);

        kill (-pid, SIGKILL);
        if (!ended)
            _has_ended (pid, KILL_MS, &sigchld);
    }
    _exit (0);
}

/* tf-rendezvous. */

static void _reap (void)
{
    int left = 0;

    for (int i = 0; i < notifiers; i++)
        if (waitpid (notifier[i], NULL, WNOHANG) == 0)
            notifier[left++] = notifier[i];
    notifiers = left;
}

void notify_event (const char *program, const char *text, bool last)
{
    int end[2];
    pid_t pid;

    _reap ();
    if (notifiers >= NOTIFY_MOST + last || pipe2 (end, O_CLOEXEC) < 0)
        return;
    /* A pipe of srun's that is kept open, also as stdout or stderr, would keep its reader waiting. */
    if ((pid = child_fork ("tf-notify", (int[]){ last_end, -1, -1, end[1] }, 4)) == 0)
        _notify (program, text);
    close (end[1]);
    if (pid < 0) {
        close (end[0]);
        return;
    }
    if (last_end >= 0)
        close (last_end);
    last_end = end[0];
    last_runs = last;
    notifier[notifiers++] = pid;
}

bool notify_has_last (void)
{
    struct pollfd end = { .fd = last_end, .events = POLLIN };

    last_runs = last_runs && poll (&end, 1, 0) == 0;
    return last_runs;
}
