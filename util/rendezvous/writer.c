/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "writer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "common/child.h"
#include "common/deadline.h"

#define FLUSH_MS 2000

/* See writer_put (). */
#define MAX_KEPT (1 << 20)
/* A message on the socket, which takes several. */
#define MAX_MESSAGE 32768

/* The child's end of the socket. */
#define CHILD_FD 0

struct writer {
    int socket;
    int unanswered;         /* messages to the child, and its open () */
    bool late;              /* the child has not answered in time; do not wait for it */
    bool dead;
    char *text;             /* what the child has not taken yet: */
    size_t begin, end;
    size_t dropped_bytes, dropped_lines;
};

/* At most this many bytes: whole lines, if they are not too long. */
static size_t _whole_lines (const char *text, size_t length, size_t most)
{
    size_t chunk = length < most ? length : most;

    for (size_t i = chunk; i > 0; i--)
        if (text[i - 1] == '\n')
            return i;
    return chunk;
}

/* The child. */

/* The answer to open (). That to a text is one byte. */
struct opened {
    bool failed;
    struct errtext text;
};

static void _write_all (int fd, const char *text, size_t length)
{
    struct pollfd pfd = { .fd = fd, .events = POLLOUT };
    struct stat st;
    bool is_file = fstat (fd, &st) == 0 && S_ISREG (st.st_mode);

    while (length > 0) {
        ssize_t n = write (fd, text, is_file ? length : _whole_lines (text, length, PIPE_BUF));

        /* srun may have inherited a descriptor with O_NONBLOCK. */
        if (n < 0 && errno == EAGAIN && poll (&pfd, 1, -1) == 1)
            continue;
        if (n <= 0)
            return;
        text += n;
        length -= (size_t)n;
    }
}

/* srun --pty makes its terminal raw, and later normal again. */
static void _write_text (int fd, const char *text, size_t length)
{
    static char out[2 * MAX_MESSAGE];
    struct termios tty;
    size_t used = 0;

    if (tcgetattr (fd, &tty) < 0 || (tty.c_oflag & OPOST)) {
        _write_all (fd, text, length);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n')
            out[used++] = '\r';
        out[used++] = text[i];
    }
    _write_all (fd, out, used);
}

/*
 * Wait for a message. 0 at the end. If the other side ends with an answer that it has not read, there is
 * one ECONNRESET before what it has sent (unix (7)).
 */
static size_t _receive_text (char *text, size_t size)
{
    ssize_t n;

    while ((n = recv (CHILD_FD, text, size, 0)) < 0 && (errno == ECONNRESET || errno == EINTR))
        ;
    return n < 0 ? 0 : (size_t)n;
}

static noreturn void _serve (writer_open *open, const void *arg)
{
    static char text[MAX_MESSAGE];
    struct opened opened = { .text = { "" } };
    size_t length;
    int fd;

    fd = open (arg, &opened.text);
    opened.failed = fd < 0;
    send (CHILD_FD, &opened, sizeof (opened), MSG_NOSIGNAL);
    while (fd >= 0 && (length = _receive_text (text, sizeof (text))) > 0) {
        _write_text (fd, text, length);
        send (CHILD_FD, "", 1, MSG_NOSIGNAL);
    }
    _exit (0);
}

/* The rendezvous. */

struct writer *writer_create (writer_open *open, const void *arg, struct errtext *err)
{
    struct writer *w = calloc (1, sizeof (*w));
    int pair[2];
    pid_t pid;

    if (!w || socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        errtext_set (err, "%s", strerror (errno));
        free (w);
        return NULL;
    }
    if ((pid = child_fork ("tf-writer", (int[]){ pair[1], STDOUT_FILENO, STDERR_FILENO }, 3)) == 0)
        _serve (open, arg);
    close (pair[1]);
    w->socket = pair[0];
    w->unanswered = 1;
    if (pid > 0)
        return w;
    errtext_set (err, "%s", strerror (errno));
    close (w->socket);
    free (w);
    return NULL;
}

int writer_await_open (struct writer *w, int ms, struct errtext *err)
{
    struct pollfd pfd = { .fd = w->socket, .events = POLLIN };
    struct opened opened;

    err->text[0] = '\0';
    if (poll (&pfd, 1, deadline_left_ms (deadline_in_ms (ms))) != 1) {
        w->late = true;
        return 0;
    }
    if (recv (w->socket, &opened, sizeof (opened), MSG_DONTWAIT) != sizeof (opened))
        return errtext_set (err, "the process that was to open it has ended");
    w->unanswered--;
    *err = opened.text;
    return opened.failed ? -1 : 0;
}

static void _take_answers (struct writer *w)
{
    struct opened answer;
    ssize_t n;

    while ((n = recv (w->socket, &answer, sizeof (answer), MSG_DONTWAIT)) > 0)
        w->unanswered--;
    w->dead = n == 0 || (errno != EAGAIN && errno != EINTR);
}

/* A part of what is kept. False if there is nothing, or if the child takes nothing. */
static bool _send_part (struct writer *w, int flags)
{
    size_t length;

    if (w->end == w->begin)
        return false;
    length = _whole_lines (w->text + w->begin, w->end - w->begin, MAX_MESSAGE);
    if (send (w->socket, w->text + w->begin, length, flags | MSG_NOSIGNAL) < 0)
        return false;
    w->unanswered++;
    w->begin += length;
    return true;
}

static void _drop (struct writer *w, const char *text, size_t length)
{
    w->dropped_bytes += length;
    for (size_t i = 0; i < length; i++)
        w->dropped_lines += text[i] == '\n';
}

static void _keep (struct writer *w, const char *text, size_t length)
{
    size_t kept = w->end - w->begin;
    char *more;

    if (w->begin > 0)
        memmove (w->text, w->text + w->begin, kept);
    w->begin = 0;
    w->end = kept;
    if (!(more = realloc (w->text, kept + length + 1))) {
        _drop (w, text, length);
        return;
    }
    w->text = more;
    memcpy (w->text + kept, text, length);
    w->end += length;
}

/* Where the dropped lines would have been. False if there are none, or if it is not time yet. */
static bool _keep_dropped_line (struct writer *w)
{
    char line[160];
    int n;

    if (w->begin < w->end || w->dropped_bytes == 0)
        return false;
    n = snprintf (line, sizeof (line),
                  "srun: error: spank_tf: here %zu lines (%zu bytes) are missing, "
                  "which could not be written in time\n",
                  w->dropped_lines, w->dropped_bytes);
    w->dropped_bytes = w->dropped_lines = 0;
    _keep (w, line, (size_t)n);
    return true;
}

bool writer_pump (struct writer *w)
{
    if (!w)
        return true;
    _take_answers (w);
    while (!w->dead && (_send_part (w, MSG_DONTWAIT) || _keep_dropped_line (w)))
        ;
    return !w->dead;
}

void writer_put (struct writer *w, const char *text)
{
    size_t length = strlen (text), kept;

    writer_pump (w);
    kept = w->end - w->begin;
    if (w->dropped_bytes > 0 || (kept > 0 && kept + length > MAX_KEPT))
        _drop (w, text, length);
    else if (length > 0)
        _keep (w, text, length);
    writer_pump (w);
}

bool writer_is_busy (const struct writer *w)
{
    return w && !w->dead && (w->unanswered > 0 || w->begin < w->end);
}

bool writer_keeps (const struct writer *w)
{
    return w && !w->dead && w->begin < w->end;
}

bool writer_flush (struct writer *w)
{
    struct deadline deadline = deadline_in_ms (writer_is_late (w) ? 0 : FLUSH_MS);

    if (!w)
        return true;
    for (writer_pump (w); writer_is_busy (w) && !deadline_passed (deadline); writer_pump (w)) {
        struct pollfd pfd = { .fd = w->socket, .events = POLLIN };

        if (w->begin < w->end)
            pfd.events |= POLLOUT;
        if (poll (&pfd, 1, deadline_left_ms (deadline)) == 0)
            break;
    }
    w->late = writer_is_busy (w);
    return !w->late && !w->dead;
}

bool writer_is_late (const struct writer *w)
{
    return w && w->late;
}

void writer_set_late (struct writer *w)
{
    if (w)
        w->late = writer_is_busy (w);
}

/*
 * This process may end, and the child has not taken everything: another process waits for that. It
 * reads no answers, and keeps nothing open but the socket.
 */
static void _leave_behind (struct writer *w)
{
    if (child_fork ("tf-writer", &w->socket, 1) != 0)
        return;
    w->socket = 0;
    shutdown (w->socket, SHUT_RD);
    while (_send_part (w, 0) || _keep_dropped_line (w))
        ;
    _exit (0);
}

void writer_close (struct writer *w)
{
    if (!w)
        return;
    writer_flush (w);
    if (!w->dead && w->begin < w->end)
        _leave_behind (w);
    close (w->socket);
    free (w->text);
    free (w);
}
