/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "fork_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/number.h"
#include "common/proc.h"
#include "protocol/fork_request.h"

/*
 * Slurm needs a blank-free name other than slurmstepd to be able to kill this process
 * (proctrack/linuxproc).
 */
#define SERVER_NAME "tf-fork-server"

/* A process that does not die of SIGKILL hangs in the kernel; Slurm deals with those. */
#define KILL_MS 30000
#define KILL_PAUSE_MS 5

/* What a program may leave changed in a file or a terminal that its next life shares. */
struct shared {
    int flags[STDERR_FILENO + 1];       /* of 0, 1 and 2, such as O_NONBLOCK; -1: not open */
    off_t input;                        /* where stdin begins; -1: it cannot begin again */
    bool on_terminal;                   /* stdin is one, with these modes */
    struct termios modes;
};

static void _save (struct shared *shared)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        shared->flags[fd] = fcntl (fd, F_GETFL);
    shared->input = lseek (STDIN_FILENO, 0, SEEK_CUR);
    shared->on_terminal = tcgetattr (STDIN_FILENO, &shared->modes) == 0;
}

/* SIGTTOU is blocked. */
static void _restore (const struct shared *shared)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (shared->flags[fd] >= 0)
            fcntl (fd, F_SETFL, shared->flags[fd]);
    if (shared->input >= 0)
        lseek (STDIN_FILENO, shared->input, SEEK_SET);
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

/* tf-supervise reads slurmstepd's pipe, and each life has a pipe from it (supervise/input.h). */
static void _leave_input (void)
{
    struct stat st;
    int null;

    if (fstat (STDIN_FILENO, &st) < 0 || !S_ISFIFO (st.st_mode)
        || (null = open ("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
        return;
    dup2 (null, STDIN_FILENO);
    close (null);
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
        if (sig != SIGPIPE && sigaction (sig, NULL, &now) == 0 && now.sa_handler != SIG_IGN
            && now.sa_handler != SIG_DFL)
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

/* Guard. */

static bool _is_left_out (const struct fork_server *server, pid_t child)
{
    for (int i = 0; i < server->others; i++)
        if (server->other[i] == child)
            return true;
    return false;
}

/* A child that was there before the first life is another plugin's, as the file system of a container. */
static void _leave_out (pid_t child, void *arg)
{
    struct fork_server *server = arg;

    if (server->others < FORK_SERVER_MOST_OTHERS)
        server->other[server->others++] = child;
}

static void _forget (struct fork_server *server, pid_t child)
{
    for (int i = 0; i < server->others; i++)
        if (server->other[i] == child)
            server->other[i] = 0;
}

static void _reap (struct fork_server *server)
{
    pid_t child;

    while ((child = proc_next_ended ()) > 0) {
        struct fork_reply reply = { .kind = FORK_ENDED, .pid = child };

        reply.unstarted = child == server->life && proc_has_name (child, FORK_LIFE_NAME);
        if (!proc_reap (child, &reply.status))
            continue;
        _forget (server, child);
        if (child != server->life && child != server->check)
            continue;
        *(child == server->life ? &server->life : &server->check) = 0;
        send (server->requests, &reply, sizeof (reply), MSG_NOSIGNAL);
    }
}

struct hunt {
    const struct fork_server *server;
    int killed;
};

static void _kill (pid_t child, void *arg)
{
    struct hunt *hunt = arg;

    if (!_is_left_out (hunt->server, child) && kill (child, SIGKILL) == 0)
        hunt->killed++;
}

/*
 * The supervisor has died. No other task may begin in the place of this one while something of it lives. What
 * has lost its parent becomes a child of this process.
 */
static void __attribute__ ((noreturn)) _end_tree (struct fork_server *server)
{
    struct hunt hunt = { .server = server };

    if (server->life)
        kill (server->life, SIGKILL);
    for (int left_ms = KILL_MS; left_ms > 0; left_ms -= KILL_PAUSE_MS) {
        _reap (server);
        hunt.killed = 0;
        proc_children (getpid (), _kill, &hunt);
        if (hunt.killed == 0)
            break;
        poll (NULL, 0, KILL_PAUSE_MS);
    }
    _exit (1);
}

/* Lives. */

/*
 * A life waits until the fork server lets it begin, and so has told the supervisor of it. A process that is
 * forked has none of its parent's pending signals: the first life raises those that the fork server has got.
 */
static void _await_begin (int from, int number)
{
    sigset_t pending;

    if (recv (from, &pending, sizeof (pending), 0) != sizeof (pending))
        _exit (1);
    close (from);
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

/* True in the new life. */
static bool _begin_life (struct fork_server *server, int number)
{
    struct fork_reply reply = { .kind = FORK_FAILED, .pid = -1 };
    int pair[2] = { -1, -1 };

    /* The supervisor looks at the life's name as soon as it learns of it. */
    prctl (PR_SET_NAME, FORK_LIFE_NAME);
    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 || (reply.pid = fork ()) < 0)
        errtext_set (&reply.error, "%s", strerror (errno));
    if (reply.pid != 0)
        prctl (PR_SET_NAME, SERVER_NAME);
    if (reply.pid == 0) {
        close (pair[0]);
        close (server->children);
        if (server->input >= 0)
            dup2 (server->input, STDIN_FILENO);
        _await_begin (pair[1], number);
        return true;
    }
    if (server->input >= 0)
        close (server->input);
    if (reply.pid > 0) {
        reply.kind = FORK_BEGUN;
        server->life = reply.pid;
        if (server->port >= 0)
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

/* Checks. */

/* As a life of the user's, with nothing of the task's stdin and output. */
static void __attribute__ ((noreturn)) _check (const struct fork_server *server,
                                               const struct check_order *order)
{
    int null = open ("/dev/null", O_RDWR | O_CLOEXEC);

    close (server->children);
    dup2 (null, STDIN_FILENO);
    dup2 (server->input, STDOUT_FILENO);
    dup2 (null, STDERR_FILENO);
    fork_server_take_signals (&server->mask);
    server->make_check (order);
    _exit (127);
}

static void _begin_check (struct fork_server *server, const struct check_order *order)
{
    struct fork_reply reply = { .kind = FORK_FAILED, .pid = fork () };

    if (reply.pid == 0)
        _check (server, order);
    if (reply.pid > 0) {
        reply.kind = FORK_BEGUN;
        server->check = reply.pid;
    } else
        errtext_set (&reply.error, "%s", strerror (errno));
    close (server->input);
    send (server->requests, &reply, sizeof (reply), MSG_NOSIGNAL);
}

/* An answer that comes with a request is the one from now on. False if what is to come has not. */
static bool _take_descriptors (struct fork_server *server, const struct fork_request *request,
                               const struct cmsghdr *control)
{
    size_t count = (size_t)request->answer + request->input;
    int fd[FORK_MOST_DESCRIPTORS];

    server->input = -1;
    if (count == 0)
        return true;
    if (!control || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS
        || control->cmsg_len != CMSG_LEN (count * sizeof (int)))
        return false;
    memcpy (fd, CMSG_DATA (control), count * sizeof (int));
    if (request->answer) {
        if (server->answer >= 0)
            close (server->answer);
        server->answer = fd[0];
    }
    if (request->input)
        server->input = fd[count - 1];
    return true;
}

/* False at the end, or if there is no room for a descriptor: no life may lack its answer or its stdin. */
static bool _receive (struct fork_server *server, struct fork_request *request)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE (FORK_MOST_DESCRIPTORS * sizeof (int))];
    } control;
    struct iovec part = { request, sizeof (*request) };
    struct msghdr msg = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof (control)
    };

    return recvmsg (server->requests, &msg, MSG_CMSG_CLOEXEC) == sizeof (*request)
           && !(msg.msg_flags & MSG_CTRUNC) && _take_descriptors (server, request, CMSG_FIRSTHDR (&msg));
}

static void _say_ready (const struct fork_server *server)
{
    static const struct fork_reply ready = { .kind = FORK_READY };

    send (server->requests, &ready, sizeof (ready), MSG_NOSIGNAL);
}

/* Until there is a request. False at the end. */
static bool _await_request (struct fork_server *server, struct fork_request *request)
{
    struct pollfd pfd[] = { { .fd = server->requests, .events = POLLIN },
                            { .fd = server->children, .events = POLLIN } };
    struct signalfd_siginfo info;

    for (;;) {
        while (read (server->children, &info, sizeof (info)) > 0)
            ;
        _reap (server);
        /* A fork of the supervisor may still have the other end of the socket. */
        if (getppid () != server->supervisor)
            return false;
        if (poll (pfd, 2, -1) > 0 && pfd[0].revents)
            return _receive (server, request);
    }
}

static int _open_children (void)
{
    sigset_t child;

    /* While it is ignored, wait () learns nothing. */
    signal (SIGCHLD, SIG_DFL);
    sigemptyset (&child);
    sigaddset (&child, SIGCHLD);
    return signalfd (-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int _serve (struct fork_server *server)
{
    struct fork_request request;
    struct shared shared;

    prctl (PR_SET_NAME, SERVER_NAME);
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    _close_slurms (server);
    _leave_input ();
    _save (&shared);
    if ((server->children = _open_children ()) < 0)
        _exit (1);
    /* The death of the supervisor wakes this process. */
    prctl (PR_SET_PDEATHSIG, SIGCHLD);
    _reap (server);
    proc_children (getpid (), _leave_out, server);
    _say_ready (server);
    while (_await_request (server, &request))
        if (request.check.number > 0)
            _begin_check (server, &request.check);
        else if (_begin_life (server, request.life)) {
            if (request.life > 0)
                _restore (&shared);
            memcpy (server->at, request.at, sizeof (server->at));
            return request.life;
        }
    _end_tree (server);
}

static int _become_only_life (const struct fork_server *server)
{
    const struct fork_reply reply = { .kind = FORK_BEGUN, .pid = getpid () };
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

    /* It is the user's, and has the memory of slurmstepd, which is root's: no process of his may read it. */
    prctl (PR_SET_DUMPABLE, 0);
    _die_with (server->supervisor);
    life = server->may_restart ? _serve (server) : _become_only_life (server);
    close (server->requests);
    fork_server_take_signals (&server->mask);
    return life;
}
