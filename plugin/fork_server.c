/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "fork_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/number.h"
#include "protocol/fork_request.h"

/*
 * Slurm needs a blank-free name other than slurmstepd to be able to kill this process
 * (proctrack/linuxproc).
 */
#define SERVER_NAME "tf-fork-server"

/* What a program may leave changed in a file or a terminal that its next life shares. */
struct shared {
    int flags[STDERR_FILENO + 1];       /* of 0, 1 and 2, such as O_NONBLOCK; -1: not open */
    bool on_terminal;                   /* stdin is one, with these modes */
    struct termios modes;
};

static void _save (struct shared *shared)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        shared->flags[fd] = fcntl (fd, F_GETFL);
    shared->on_terminal = tcgetattr (STDIN_FILENO, &shared->modes) == 0;
}

/* SIGTTOU is blocked. */
static void _restore (const struct shared *shared)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (shared->flags[fd] >= 0)
            fcntl (fd, F_SETFL, shared->flags[fd]);
    if (shared->on_terminal) {
        tcsetpgrp (STDIN_FILENO, getpgrp ());
        tcsetattr (STDIN_FILENO, TCSANOW, &shared->modes);
    }
}

/* Most descriptors of a process without a readable /proc. */
#define MOST_DESCRIPTORS 65536

/*
 * Close a pipe, socket or terminal that exec would close: slurmstepd's end of a pipe, if it stayed open
 * here, would keep the program's stdin from ever reaching end-of-file. Other files stay open: Slurm 24.11
 * and later start TaskProlog through one that is close-on-exec.
 */
static void _close_if_slurms (const struct fork_server *server, int fd)
{
    int flags = fcntl (fd, F_GETFD);
    struct stat st;

    if (fd != server->requests && fd != server->port && flags >= 0 && flags & FD_CLOEXEC
        && fstat (fd, &st) == 0 && (S_ISFIFO (st.st_mode) || S_ISSOCK (st.st_mode) || S_ISCHR (st.st_mode)))
        close (fd);
}

static void _close_slurms (const struct fork_server *server)
{
    DIR *dir = opendir ("/proc/self/fd");
    struct dirent *entry;
    int fd;

    for (fd = STDERR_FILENO + 1; !dir && fd < MOST_DESCRIPTORS; fd++)
        _close_if_slurms (server, fd);
    while (dir && (entry = readdir (dir)))
        if (number_parse (&fd, entry->d_name, STDERR_FILENO + 1, INT_MAX) == 0)
            _close_if_slurms (server, fd);
    if (dir)
        closedir (dir);
}

void fork_server_take_signals (const sigset_t *mask)
{
    struct sigaction now;

    for (int sig = 1; sig <= SIGRTMAX; sig++)
        if (sig != SIGPIPE && sigaction (sig, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal (sig, SIG_DFL);
    sigprocmask (SIG_SETMASK, mask, NULL);
}

static void _die_with (pid_t supervisor)
{
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    /* It may have died before. */
    if (getppid () != supervisor)
        _exit (1);
}

/* Lives. */

/*
 * A life waits until the fork server lets it begin, and so has told the supervisor of it. A process that is
 * forked has none of its parent's pending signals: the first life raises those that the fork server has got.
 */
static void _await_begin (const struct fork_server *server, int from, int number)
{
    sigset_t pending;

    if (recv (from, &pending, sizeof (pending), 0) != sizeof (pending))
        _exit (1);
    close (from);
    _die_with (server->supervisor);
    for (int sig = 1; number == 0 && sig <= SIGRTMAX; sig++)
        if (sigismember (&pending, sig) == 1)
            raise (sig);
}

static void _let_begin (int to)
{
    sigset_t pending;

    sigpending (&pending);
    send (to, &pending, sizeof (pending), MSG_NOSIGNAL);
}

/*
 * Fork a life. When the intermediate process has been waited for, the life is a child of the supervisor.
 * Returns 0 in the life; otherwise its process ID, or -1 and err. `pair` connects both to this process.
 */
static pid_t _fork_life (const int pair[2], struct errtext *err)
{
    struct fork_reply reply;
    pid_t intermediate = fork ();

    if (intermediate < 0)
        return errtext_set (err, "%s", strerror (errno));
    if (intermediate == 0) {
        /* The supervisor looks at the name as soon as it learns of the life. */
        prctl (PR_SET_NAME, FORK_LIFE_NAME);
        reply = (struct fork_reply){ .pid = fork () };
        if (reply.pid == 0)
            return 0;
        if (reply.pid < 0)
            errtext_set (&reply.error, "%s", strerror (errno));
        send (pair[1], &reply, sizeof (reply), MSG_NOSIGNAL);
        _exit (0);
    }
    /* If SIGCHLD is ignored, this waits, too, and then fails. */
    while (waitpid (intermediate, NULL, 0) < 0 && errno == EINTR)
        ;
    if (recv (pair[0], &reply, sizeof (reply), MSG_DONTWAIT) != sizeof (reply))
        return errtext_set (err, "its process was killed");
    *err = reply.error;
    return reply.pid;
}

/* True in the new life. */
static bool _begin_life (struct fork_server *server, int number)
{
    struct fork_reply reply = { .pid = -1 };
    int pair[2] = { -1, -1 };

    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        errtext_set (&reply.error, "%s", strerror (errno));
    else
        reply.pid = _fork_life (pair, &reply.error);
    if (reply.pid == 0) {
        close (pair[0]);
        _await_begin (server, pair[1], number);
        return true;
    }
    if (reply.pid > 0 && server->port >= 0) {
        close (server->port);
        server->port = -1;
    }
    send (server->requests, &reply, sizeof (reply), MSG_NOSIGNAL);
    if (reply.pid > 0)
        _let_begin (pair[0]);
    if (pair[0] >= 0) {
        close (pair[0]);
        close (pair[1]);
    }
    return false;
}

/*
 * A descriptor that comes with it is the answer from now on. False at the end, or if there is no room for the
 * descriptor: no life may have the former answer.
 */
static bool _receive (struct fork_server *server, struct fork_request *request)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE (sizeof (int))];
    } control;
    struct iovec part = { request, sizeof (*request) };
    struct msghdr msg = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof (control)
    };
    const struct cmsghdr *c;

    if (recvmsg (server->requests, &msg, MSG_CMSG_CLOEXEC) != sizeof (*request) || msg.msg_flags & MSG_CTRUNC)
        return false;
    if ((c = CMSG_FIRSTHDR (&msg)) && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        if (server->answer >= 0)
            close (server->answer);
        memcpy (&server->answer, CMSG_DATA (c), sizeof (server->answer));
    }
    return true;
}

static void _say_ready (const struct fork_server *server)
{
    static const struct fork_reply ready;

    send (server->requests, &ready, sizeof (ready), MSG_NOSIGNAL);
}

static int _serve (struct fork_server *server)
{
    struct fork_request request;
    struct shared shared;

    prctl (PR_SET_NAME, SERVER_NAME);
    /* A child that another plugin has left, as pyxis does, must not stay as a zombie. */
    signal (SIGCHLD, SIG_IGN);
    while (waitpid (-1, NULL, WNOHANG) > 0)
        ;
    _close_slurms (server);
    _save (&shared);
    _say_ready (server);
    while (_receive (server, &request))
        if (_begin_life (server, request.life)) {
            signal (SIGCHLD, SIG_DFL);
            if (request.life > 0)
                _restore (&shared);
            memcpy (server->at, request.at, sizeof (server->at));
            return request.life;
        }
    _exit (1);
}

static int _become_only_life (const struct fork_server *server)
{
    const struct fork_reply reply = { .pid = getpid () };
    struct fork_request request;

    _say_ready (server);
    if (recv (server->requests, &request, sizeof (request), 0) != sizeof (request))
        _exit (1);
    send (server->requests, &reply, sizeof (reply), MSG_NOSIGNAL);
    return request.life;
}

int fork_server_run (struct fork_server *server)
{
    int life;

    _die_with (server->supervisor);
    life = server->may_restart ? _serve (server) : _become_only_life (server);
    close (server->requests);
    fork_server_take_signals (&server->mask);
    return life;
}
