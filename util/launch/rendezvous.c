/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"

/* The program reads its configuration at once, unless it is on a filesystem that hangs. */
#define READY_MS 10000

/*
 * srun blocks most signals, and every Ctrl-C reaches its process group: the rendezvous gets
 * neither. It keeps srun's stderr, its socket to srun (3) and the listening socket (4), and
 * closes all other descriptors that it inherits. It gets no variable of the user's: an
 * LD_LIBRARY_PATH that is meant for the user's programs could keep it from starting. 0, or an
 * errno.
 */
static int _spawn_rendezvous (pid_t *pid, const char *program, const char *step, const char *messages,
                              int control, int listener)
{
    char *const argv[] = { (char *)(uintptr_t)"tf-rendezvous", (char *)(uintptr_t)step, NULL };
    char *const no_variables[] = { NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int rc;

    sigemptyset (&none);
    sigfillset (&all);
    posix_spawnattr_init (&attr);
    posix_spawnattr_setsigmask (&attr, &none);
    posix_spawnattr_setsigdefault (&attr, &all);
    posix_spawnattr_setflags (&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2 (&actions, 0, 1);
    if (messages)
        posix_spawn_file_actions_addopen (&actions, 2, messages, O_WRONLY | O_APPEND | O_NOCTTY, 0);
    posix_spawn_file_actions_adddup2 (&actions, control, 3);
    posix_spawn_file_actions_adddup2 (&actions, listener, 4);
    rc = posix_spawn (pid, program, &actions, &attr, argv, no_variables);
    posix_spawn_file_actions_destroy (&actions);
    posix_spawnattr_destroy (&attr);
    return rc;
}

/* Move it away from the numbers that the rendezvous expects. */
static int _move_up (int fd)
{
    int high = fcntl (fd, F_DUPFD_CLOEXEC, 10);

    close (fd);
    return high;
}

/* Start it with these two sockets, which are closed here. -1 and err. */
static int _launch (pid_t *pid, const char *program, const char *step, const char *messages, int control,
                    int listener, struct errtext *err)
{
    int error;

    control = _move_up (control);
    listener = _move_up (listener);
    error = control < 0 || listener < 0 ? EMFILE
                                        : _spawn_rendezvous (pid, program, step, messages, control, listener);
    if (control >= 0)
        close (control);
    if (listener >= 0)
        close (listener);
    return error ? errtext_set (err, "%s: %s", program, strerror (error)) : 0;
}

/* It has ended. The dynamic loader may have printed why, or the program itself. */
static int _report_end (const char *program, pid_t pid, struct errtext *err)
{
    int status = SIGKILL;

    kill (pid, SIGKILL);
    waitpid (pid, &status, 0);
    return errtext_set (err, "%s ended before it had read its configuration, %s %d", program,
                        WIFEXITED (status) ? "exit" : "signal",
                        WIFEXITED (status) ? WEXITSTATUS (status) : WTERMSIG (status));
}

/* It writes a byte when it has read its configuration. */
static int _await_ready (int control, const char *program, pid_t pid, struct errtext *err)
{
    struct deadline deadline = deadline_in_ms (READY_MS);
    char byte;

    if (deadline_wait (control, POLLIN, deadline))
        return recv (control, &byte, 1, 0) == 1 ? 0 : _report_end (program, pid, err);
    kill (pid, SIGKILL);
    return errtext_set (err, "%s has not read its configuration within %d s", program, READY_MS / 1000);
}

/*
 * The listening socket is closed here at once: when the rendezvous ends, the kernel refuses connections.
 * srun's end of the socket pair stays open until srun ends, in whatever way; the rendezvous then sees
 * end-of-file.
 */
int rendezvous_start (const char *program, const char *step, const char *messages, int listener,
                      struct frame *configuration, struct errtext *err)
{
    int pair[2];
    pid_t pid = -1;

    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        errtext_set (err, "%s", strerror (errno));
        close (listener);
        return -1;
    }
    if (_launch (&pid, program, step, messages, pair[1], listener, err) == 0) {
        /* If that fails because the program has ended, it is reported below. */
        frame_send (configuration, pair[0], NULL);
        if (_await_ready (pair[0], program, pid, err) == 0)
            return pair[0];
    }
    close (pair[0]);
    return -1;
}
