/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "master_log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/descriptors.h"
#include "common/logdir.h"

#define NAME "master.log"

#define OPEN_MS 5000
#define WRITE_MS 2000

/* A message on the socket; a socket takes several. */
#define MAX_MESSAGE 32768

/* The child's end of the socket. */
#define CHILD_FD 0

struct master_log {
    pid_t child;
    int socket;
    int unanswered;     /* messages to the child, and its opening of the file */
    bool late;          /* the child has not answered in time; do not wait for it */
    char path[PATH_MAX + sizeof ("/" NAME)];
};

/* The child. */

static int _open (const char *path, bool append, struct errtext *err)
{
    struct logdir dir;
    int fd;

    snprintf (dir.path, sizeof (dir.path), "%s", path);
    if (logdir_make (&dir, err) < 0)
        return -1;
    fd = logdir_open (&dir, append, NAME, err);
    logdir_close (&dir);
    return fd;
}

/* An empty text says that all is well. */
static void _answer (const char *text)
{
    send (CHILD_FD, text, strlen (text) + 1, MSG_NOSIGNAL);
}

/* Ignore errors: a full disk must not end a training. */
static void _write_all (int fd, const char *text, size_t length)
{
    ssize_t n;

    for (; length > 0 && (n = write (fd, text, length)) > 0; length -= (size_t)n)
        text += n;
}

static noreturn void _serve (const char *path, bool append)
{
    static char text[MAX_MESSAGE];
    struct errtext err = { "" };
    int fd = _open (path, append, &err);
    ssize_t n;

    _answer (err.text);
    while (fd >= 0 && (n = recv (CHILD_FD, text, sizeof (text), 0)) > 0) {
        _write_all (fd, text, (size_t)n);
        _answer ("");
    }
    _exit (0);
}

/* It keeps no other descriptor, so that it cannot keep anything else open. */
static noreturn void _become_child (int socket, pid_t parent, const char *path, bool append)
{
    /* In this order, or the parent's death between the two would go unnoticed. */
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent)
        _exit (1);
    dup2 (socket, CHILD_FD);
    dup2 (CHILD_FD, STDOUT_FILENO);
    dup2 (CHILD_FD, STDERR_FILENO);
    descriptors_close_above (STDERR_FILENO);
    _serve (path, append);
}

/* The rendezvous. */

static int _start (struct master_log *log, const char *dir, bool append, struct errtext *err)
{
    pid_t parent = getpid ();
    int pair[2];

    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return errtext_set (err, "%s", strerror (errno));
    if ((log->child = fork ()) == 0)
        _become_child (pair[1], parent, dir, append);
    if (log->child < 0)
        errtext_set (err, "%s", strerror (errno));
    close (pair[1]);
    log->socket = pair[0];
    log->unanswered = log->child > 0;
    return log->child < 0 ? -1 : 0;
}

/* The child's next answer. -1 if none comes in time, or if the child has ended. */
static int _receive (struct master_log *log, struct errtext *answer, struct deadline deadline)
{
    struct pollfd pfd = { .fd = log->socket, .events = POLLIN };

    if (poll (&pfd, 1, deadline_left_ms (deadline)) != 1
        || recv (log->socket, answer->text, sizeof (answer->text), MSG_DONTWAIT) <= 0)
        return -1;
    log->unanswered--;
    return 0;
}

/* Wait for all answers, unless the child is late already. */
static void _catch_up (struct master_log *log)
{
    struct deadline deadline = deadline_in_ms (log->late ? 0 : WRITE_MS);
    struct errtext answer;

    while (log->unanswered > 0 && _receive (log, &answer, deadline) == 0)
        ;
    log->late = log->unanswered > 0;
}

struct master_log *master_log_open (const char *dir, bool append, struct errtext *err)
{
    struct master_log *log = calloc (1, sizeof (*log));
    struct errtext answer = { "" };

    if (!log) {
        errtext_set (err, "%s", strerror (ENOMEM));
        return NULL;
    }
    log->socket = -1;
    snprintf (log->path, sizeof (log->path), "%s/" NAME, dir);
    if (_start (log, dir, append, &answer) == 0)
        log->late = _receive (log, &answer, deadline_in_ms (OPEN_MS)) < 0;
    if (!answer.text[0])
        return log;
    errtext_set (err, "%s", answer.text);
    master_log_close (log);
    return NULL;
}

bool master_log_write (struct master_log *log, const char *text)
{
    for (size_t left = strlen (text); left > 0;) {
        size_t length = left < MAX_MESSAGE ? left : MAX_MESSAGE;

        if (send (log->socket, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            return false;
        log->unanswered++;
        _catch_up (log);
        text += length;
        left -= length;
    }
    return !log->late;
}

const char *master_log_path (const struct master_log *log)
{
    return log->path;
}

void master_log_close (struct master_log *log)
{
    if (!log)
        return;
    log->late = false;
    _catch_up (log);
    /* Do not wait for its end: it may hang in the kernel. */
    if (log->child > 0)
        kill (log->child, SIGKILL);
    if (log->socket >= 0)
        close (log->socket);
    free (log);
}
