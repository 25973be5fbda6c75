/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "config.h"
#include "connection.h"
#include "frame.h"

/* STOP and BYE are a few bytes. */
#define MAX_FRAME 4096
/* Between two attempts, doubled from one to the next. */
#define PAUSE_MIN_MS 200
#define PAUSE_MAX_MS 30000
#define PAUSE_REPORT_MS 5000        /* ... at most, while there is something to tell */
#define DIAL_MS 10000
/*
 * The port is srun's: who refuses there is a rendezvous that has ended, or a firewall in its
 * place. Asked once more before that is told, because when srun has ended too, Slurm ends this
 * task before that; and then from time to time.
 */
#define REFUSED_MS 5000
/* What is not acknowledged for so long is lost, and the connection with it. */
#define IDLE_LOST_MS 60000
#define REPORT_LOST_MS 5000
/* Who has the report answers at once; where nobody can be reached it is given up in the end. */
#define ANSWER_MS 15000
#define REPORT_MS 60000

struct line {
    enum { OPEN, DIALLING, PAUSING, GONE } state;
    int fd;
    struct deadline next;           /* of that state */
    struct deadline settled;        /* a connection that lasts longer is no failed attempt */
    int pause_ms;
    bool refused;                   /* the attempt before */
    bool told;                      /* that nobody is there */
    bool first;                     /* the connection on which the rank was answered */
    struct frame_reader reader;
    const char *proof;
    struct sockaddr_storage rendezvous;
    socklen_t rendezvous_len;
    char ended[32];                 /* empty while the task lives */
    struct deadline given_up;       /* a report that nobody takes */
};

/* A process has one, which ends with it. */
static struct line only_line;

static void _give_up_after (int fd, unsigned int ms)
{
    setsockopt (fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof (ms));
}

static void _pause (struct line *line)
{
    int longest_ms = line->ended[0] ? PAUSE_REPORT_MS : PAUSE_MAX_MS;

    if (line->fd >= 0)
        close (line->fd);
    line->fd = -1;
    line->first = false;
    frame_reader_clear (&line->reader);
    if (deadline_passed (line->settled))
        line->pause_ms = PAUSE_MIN_MS;
    line->next = deadline_in_ms (line->pause_ms);
    line->pause_ms = 2 * line->pause_ms < longest_ms ? 2 * line->pause_ms : longest_ms;
    line->state = PAUSING;
}

/* The report, if there is one to be answered, is on its way. */
static void _open (struct line *line)
{
    _give_up_after (line->fd, line->ended[0] ? REPORT_LOST_MS : IDLE_LOST_MS);
    line->next = line->ended[0] ? deadline_in_ms (ANSWER_MS) : deadline_never ();
    line->state = OPEN;
}

/* Who we are, and how the task ended if it has. */
static int _greet (const struct line *line)
{
    static const char *const known[] = { "TOKEN", "NODE", "STEP", "RANK" };
    struct frame *frame = frame_create ();
    int rc;

    if (!frame)
        return -1;
    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        frame_add (frame, known[i], "%s", getenv (known[i]));
    frame_add (frame, "RELEASE", "%s", PACKAGE_VERSION);
    frame_add (frame, "SUPERVISES", "1");
    if (line->ended[0])
        frame_add (frame, "ENDED", "%s", line->ended);
    rc = frame_send (frame, line->fd, NULL);
    frame_destroy (frame);
    return rc;
}

/* An attempt has failed, errno says why. */
static enum line_news _fail (struct line *line)
{
    bool refused = errno == ECONNREFUSED;
    bool again = line->refused;

    _pause (line);
    line->refused = refused;
    if (!refused)
        return LINE_QUIET;
    if (line->ended[0]) {
        line->state = GONE;
        line->next = deadline_never ();
        return LINE_GONE;
    }
    line->next = deadline_in_ms (again ? PAUSE_MAX_MS : REFUSED_MS);
    if (!again || line->told)
        return LINE_QUIET;
    line->told = true;
    return LINE_GONE;
}

static enum line_news _dial (struct line *line)
{
    line->settled = deadline_never ();
    line->fd = socket (line->rendezvous.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (line->fd < 0
        || (connect (line->fd, (struct sockaddr *)&line->rendezvous, line->rendezvous_len) < 0
            && errno != EINPROGRESS))
        return _fail (line);
    line->next = deadline_in_ms (DIAL_MS);
    line->state = DIALLING;
    return LINE_QUIET;
}

/* Somebody has answered the call, or it has failed. */
static enum line_news _dialled (struct line *line)
{
    socklen_t len = sizeof (errno);

    if (getsockopt (line->fd, SOL_SOCKET, SO_ERROR, &errno, &len) < 0 || errno != 0
        || _greet (line) < 0)
        return _fail (line);
    connection_keep_alive (line->fd);
    line->refused = false;
    line->settled = deadline_in_ms (PAUSE_MAX_MS);
    _open (line);
    return LINE_QUIET;
}

static enum line_news _news (const struct line *line, const struct frame *frame)
{
    if (frame_get (frame, "STOP"))
        return LINE_STOP;
    return frame_get (frame, "BYE") && line->ended[0] ? LINE_BYE : LINE_QUIET;
}

void line_hang_up (struct line *line)
{
    connection_close (line->fd);
    line->fd = -1;
    line->state = GONE;
}

/* Who does not know the proof is not the rendezvous. */
static enum line_news _hear (struct line *line)
{
    struct frame *frame = NULL;
    struct errtext err;
    enum line_news news = LINE_QUIET;
    const char *proof;
    int n = frame_read (&line->reader, line->fd, &frame, &err);

    if (n == 1 && (proof = frame_get (frame, "PROOF")) && strcmp (proof, line->proof) == 0)
        news = _news (line, frame);
    else if (n != 0)
        _pause (line);
    if (news == LINE_BYE)
        line_hang_up (line);
    frame_destroy (frame);
    return news;
}

/* Who and where the rendezvous is. -1 when that was not told. */
static int _configure (struct line *line)
{
    static const char *const needed[] = { "ADDRESS", "PORT", "PROOF", "TOKEN", "NODE", "STEP",
                                          "RANK" };
    struct address address;
    int port;

    for (size_t i = 0; i < sizeof (needed) / sizeof (needed[0]); i++)
        if (!getenv (needed[i]))
            return -1;
    port = atoi (getenv ("PORT"));
    if (port < 1 || port > 65535 || address_parse (&address, getenv ("ADDRESS")) < 0)
        return -1;
    line->proof = getenv ("PROOF");
    line->rendezvous_len = address_sockaddr (&address, port, &line->rendezvous);
    return 0;
}

struct line *line_create (int fd, struct errtext *err)
{
    struct line *line = &only_line;

    if (_configure (line) < 0) {
        errtext_set (err, "it was not told its rendezvous");
        return NULL;
    }
    line->fd = fd;
    line->first = true;
    line->reader.ceiling = MAX_FRAME;
    line->pause_ms = PAUSE_MIN_MS;
    line->settled = deadline_in_ms (0);
    connection_keep_alive (fd);
    if (fcntl (fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
        _pause (line);
    else
        _open (line);
    return line;
}

struct deadline line_poll (const struct line *line, struct pollfd *pfd)
{
    *pfd = (struct pollfd){ .fd = line->fd,
                            .events = line->state == DIALLING ? POLLOUT : POLLIN };
    return line->ended[0] ? deadline_min (line->next, line->given_up) : line->next;
}

enum line_news line_serve (struct line *line, short revents)
{
    bool late = deadline_passed (line->next);

    if (line->ended[0] && (line->state == GONE || deadline_passed (line->given_up)))
        return LINE_GONE;
    switch (line->state) {
        case OPEN:
            if (revents)
                return _hear (line);
            return late ? LINE_GONE : LINE_QUIET;
        case DIALLING:
            if (revents)
                return _dialled (line);
            errno = ETIMEDOUT;
            return late ? _fail (line) : LINE_QUIET;
        case PAUSING:
            return late ? _dial (line) : LINE_QUIET;
        case GONE:
            break;
    }
    return LINE_QUIET;
}

void line_report (struct line *line, const char *ended)
{
    snprintf (line->ended, sizeof (line->ended), "%s", ended);
    line->given_up = deadline_in_ms (REPORT_MS);
    if (line->state == OPEN) {
        _open (line);
        if (frame_send_one (line->fd, "ENDED", line->ended, NULL) < 0)
            _pause (line);
    }
    /* Nobody waits for the end of a pause with news like that. */
    if (line->state == PAUSING) {
        line->pause_ms = PAUSE_MIN_MS;
        line->next = deadline_in_ms (0);
    }
}

bool line_is_delivered (const struct line *line)
{
    int left;

    return line->first && ioctl (line->fd, TIOCOUTQ, &left) == 0 && left == 0;
}
