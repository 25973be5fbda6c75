/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "tee.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/errtext.h"
#include "tee_lines.h"

/* A pipe has as much, by default. */
#define PIECE 65536
/* The default may be as large as the limit on a process' memory. */
#define STACK (256 * 1024ul)

struct stream {
    int from;                   /* -1: all its writers have ended */
    int to;                     /* -1: nothing reads it any more */
    struct tee_lines lines;
};

/* What the thread is asked to do, and its answer. */
struct request {
    int number;
    int last;                   /* not a bool, behind which uninitialized bytes would be sent */
};

struct tee {
    const struct supervisor_config *config;
    struct stream stream[2];    /* stdout, stderr */
    char name[128];
    int log;
    bool log_failed;
    pthread_t thread;
    int asks, answers;          /* a socket pair: this process' end and the thread's */
    int number;                 /* of the last request */
    char piece[PIECE];
};

/* 0; or -1 and errno. A descriptor may be in non-blocking mode: Slurm, or another task, may share it. */
static int _write_all (int fd, const char *bytes, size_t length)
{
    struct pollfd pfd = { .fd = fd, .events = POLLOUT };

    while (length > 0) {
        ssize_t n = write (fd, bytes, length);

        if (n < 0 && errno == EAGAIN)
            poll (&pfd, 1, -1);
        else if (n < 0 && errno != EINTR)
            return -1;
        else if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        }
    }
    return 0;
}

/* A disk that is full may have room later. */
static void _write_log (struct tee *tee, size_t length)
{
    const struct supervisor_config *c = tee->config;
    struct errtext line;

    if (_write_all (tee->log, tee->piece, length) == 0 || tee->log_failed)
        return;
    tee->log_failed = true;
    errtext_set (&line, "step %s: %s %d: %s: %s; it lacks output that srun gets", c->step, c->role, c->index,
                 c->log, strerror (errno));
    if (tee->stream[1].to >= 0)
        dprintf (tee->stream[1].to, "slurmstepd: error: spank_tf: %s\n", line.text);
}

/* All signals are blocked, so SIGPIPE is, too. */
static void _write_srun (void *arg, const char *bytes, size_t length)
{
    struct stream *stream = arg;

    if (stream->to < 0 || _write_all (stream->to, bytes, length) == 0)
        return;
    close (stream->to);
    stream->to = -1;
}

/* Read once, at most `most` bytes. Returns how many. */
static size_t _pass_piece (struct tee *tee, struct stream *stream, size_t most)
{
    ssize_t n = read (stream->from, tee->piece, most < PIECE ? most : PIECE);

    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0) {
        tee_lines_end (&stream->lines);
        close (stream->from);
        stream->from = -1;
        return 0;
    }
    _write_log (tee, (size_t)n);
    tee_lines_add (&stream->lines, tee->piece, (size_t)n);
    return (size_t)n;
}

/* What is in the pipe now: a process in the background may add more without end. */
static void _drain (struct tee *tee, struct stream *stream)
{
    int left = 0;

    if (stream->from >= 0 && ioctl (stream->from, FIONREAD, &left) == 0)
        while (left > 0 && stream->from >= 0)
            left -= (int)_pass_piece (tee, stream, (size_t)left);
    tee_lines_end (&stream->lines);
}

/* False if that was the last request. */
static bool _answer_request (struct tee *tee)
{
    struct request request;

    if (recv (tee->answers, &request, sizeof (request), 0) != sizeof (request))
        return false;
    for (int i = 0; i < 2; i++)
        _drain (tee, &tee->stream[i]);
    send (tee->answers, &request, sizeof (request), MSG_NOSIGNAL);
    return !request.last;
}

static bool _is_open (const struct tee *tee)
{
    return tee->stream[0].from >= 0 || tee->stream[1].from >= 0;
}

/* Without `answers`, until all writers have ended. */
static void *_pass_on (void *arg)
{
    struct tee *tee = arg;

    while (_is_open (tee) || tee->answers >= 0) {
        struct pollfd pfd[3] = { { .fd = tee->stream[0].from, .events = POLLIN },
                                 { .fd = tee->stream[1].from, .events = POLLIN },
                                 { .fd = tee->answers, .events = POLLIN } };

        if (poll (pfd, 3, -1) < 0)
            continue;
        for (int i = 0; i < 2; i++)
            if (pfd[i].revents)
                _pass_piece (tee, &tee->stream[i], PIECE);
        if (pfd[2].revents && !_answer_request (tee))
            break;
    }
    return NULL;
}

static void _open_stream (struct tee *tee, struct stream *stream, int from, int to)
{
    stream->from = from;
    /* -1 if Slurm has given none. */
    stream->to = fcntl (to, F_DUPFD_CLOEXEC, SUPERVISOR_LAST_FD + 1);
    tee_lines_init (&stream->lines, tee->name, _write_srun, stream);
}

static int _start_thread (struct tee *tee)
{
    pthread_attr_t attributes;
    int pair[2], rc;

    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    tee->asks = pair[0];
    tee->answers = pair[1];
    pthread_attr_init (&attributes);
    pthread_attr_setstacksize (&attributes, STACK);
    rc = pthread_create (&tee->thread, &attributes, _pass_on, tee);
    pthread_attr_destroy (&attributes);
    errno = rc;
    return rc == 0 ? 0 : -1;
}

int tee_start (struct tee **tp, const struct supervisor_config *config, struct errtext *err)
{
    struct tee *tee;

    *tp = NULL;
    if (!config->tee)
        return 0;
    if (!(tee = malloc (sizeof (*tee))))
        return errtext_set (err, "--tf-tee: %s", strerror (ENOMEM));
    tee->config = config;
    tee->log = SUPERVISOR_LOG_FD;
    tee->log_failed = false;
    tee->number = 0;
    snprintf (tee->name, sizeof (tee->name), "%s %d: ", config->role, config->index);
    _open_stream (tee, &tee->stream[0], SUPERVISOR_STDOUT_FD, STDOUT_FILENO);
    _open_stream (tee, &tee->stream[1], SUPERVISOR_STDERR_FD, STDERR_FILENO);
    if (_start_thread (tee) < 0) {
        errtext_set (err, "--tf-tee: %s", strerror (errno));
        free (tee);
        return -1;
    }
    *tp = tee;
    return 0;
}

/* False if the thread has not done it in time. */
static bool _ask (struct tee *tee, bool last, struct deadline deadline)
{
    const struct request request = { .number = ++tee->number, .last = last };
    struct request done = { 0 };

    if (send (tee->asks, &request, sizeof (request), MSG_NOSIGNAL) < 0)
        return false;
    while (done.number != request.number)
        if (!deadline_wait (tee->asks, POLLIN, deadline)
            || recv (tee->asks, &done, sizeof (done), 0) != sizeof (done))
            return false;
    return true;
}

bool tee_flush (struct tee *tee, int ms)
{
    return !tee || _ask (tee, false, deadline_in_ms (ms));
}

static bool _has_writers (const struct stream *stream)
{
    struct pollfd pfd = { .fd = stream->from, .events = POLLIN };

    return stream->from >= 0 && (poll (&pfd, 1, 0) == 0 || pfd.revents & POLLIN);
}

/* tf-supervise has closed its connections before. */
static noreturn void _pass_on_in_background (struct tee *tee)
{
    prctl (PR_SET_NAME, "tf-tee");
    close (tee->asks);
    close (tee->answers);
    tee->answers = -1;
    _pass_on (tee);
    _exit (0);
}

void tee_finish (struct tee *tee)
{
    if (!tee)
        return;
    _ask (tee, true, deadline_never ());
    pthread_join (tee->thread, NULL);
    if ((_has_writers (&tee->stream[0]) || _has_writers (&tee->stream[1])) && fork () == 0)
        _pass_on_in_background (tee);
}
