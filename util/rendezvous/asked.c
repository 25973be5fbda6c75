/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "asked.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "protocol/overview.h"
#include "server.h"
#include "step_overview.h"

/* Linux 6.16 */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* Connections that wait for a child. */
#define BACKLOG 16
/* After its last answer: tf-status asks twice. */
#define STAY_MS 50
/* One asker's part of a child's time. */
#define ASKER_MS 500

/* The child. */

static bool _may_ask (int fd)
{
    struct ucred peer;
    socklen_t length = sizeof (peer);

    return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0
           && (peer.uid == 0 || peer.uid == geteuid ());
}

static bool _read_question (int fd, struct overview_question *question)
{
    struct deadline deadline = deadline_in_ms (ASKER_MS);
    struct frame_reader reader = { .ceiling = OVERVIEW_MAX_QUESTION };
    struct frame *frame = NULL;
    int n = 0;
    bool understood;

    while (n == 0 && deadline_wait (fd, POLLIN, deadline))
        n = frame_read (&reader, fd, &frame, NULL);
    understood = n == 1 && fields_decode (&overview_question_fields, question, frame, NULL) == 0;
    frame_reader_clear (&reader);
    frame_destroy (frame);
    return understood;
}

static bool _send_frame (int fd, struct frame *frame)
{
    bool sent = frame && frame_send (frame, fd, NULL) == 0;

    frame_destroy (frame);
    return sent;
}

static void _answer_asker (const struct server *server, int fd)
{
    const struct roster *roster = step_roster (server->step);
    struct step_view view = {
        .config = &server->config,
        .roster = roster,
        .job = server->job,
        .pace = &server->pace,
        .begun = server->deadline.at_ms - server->config.timeout * INT64_C (1000),
        .now = deadline_in_ms (0).at_ms,
        .refused = server->refused,
    };
    struct step_overview_room room;
    struct overview_question question;
    struct overview overview;
    bool sent;

    if (!_may_ask (fd) || !_read_question (fd, &question))
        return;
    overview = step_overview (&view, &room);
    if (question.asks == OVERVIEW_ASKS_STEP)
        overview.rows = 0;
    sent = _send_frame (fd, fields_frame (&overview_fields, &overview));
    for (int i = 0; i < overview.rows && sent; i++) {
        struct overview_rank rank = step_overview_rank (&view, &roster->rank[i], &room);

        sent = _send_frame (fd, fields_frame (&overview_rank_fields, &rank));
    }
}

/* False if there was none. */
static bool _answer_one (const struct server *server)
{
    int fd = accept4 (STDIN_FILENO, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return false;
    _answer_asker (server, fd);
    close (fd);
    return true;
}

static _Noreturn void _answer_askers (const struct server *server)
{
    const struct itimerval time = { .it_value = { .tv_sec = ASKED_MS / 1000 } };

    /* Whatever it waits for, also a descriptor of an asker's that blocks when it is closed. */
    setitimer (ITIMER_REAL, &time, NULL);
    do
        while (_answer_one (server))
            ;
    while (deadline_wait (STDIN_FILENO, POLLIN, deadline_in_ms (STAY_MS)));
    _exit (0);
}

/* tf-rendezvous. */

static int _listen (void)
{
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int no = 0;
    struct sockaddr_un address;
    socklen_t length;
    uint64_t number;

    if (fd < 0)
        return -1;
    /* Before it has a name. Kernels that do not know it let an asker keep the child busy; no more. */
    setsockopt (fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof (no));
    if (getrandom (&number, sizeof (number), 0) == (ssize_t)sizeof (number)) {
        length = overview_address (&address, geteuid (), number);
        if (bind (fd, (struct sockaddr *)&address, length) == 0 && listen (fd, BACKLOG) == 0)
            return fd;
    }
    close (fd);
    return -1;
}

/* One event, and then none until it is armed again. */
static int _arm (struct server *server, int operation)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.ptr = &server->asked };

    return epoll_ctl (server->peers.epoll, operation, server->asked.listener, &event);
}

void asked_begin (struct server *server)
{
    struct asked *asked = &server->asked;

    *asked = (struct asked){ .listener = _listen (), .end = -1, .again = deadline_never () };
    if (asked->listener >= 0 && _arm (server, EPOLL_CTL_ADD) < 0)
        asked_end (server);
}

static void _start_child (struct server *server)
{
    struct asked *asked = &server->asked;
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = asked };
    int end[2];

    asked->again = deadline_in_ms (ASKED_PAUSE_MS);
    if (pipe2 (end, O_CLOEXEC) < 0)
        return;
    if ((asked->child = child_fork ("tf-asked", (int[]){ asked->listener, -1, -1, end[1] }, 4)) == 0)
        _answer_askers (server);
    close (end[1]);
    if (asked->child > 0 && epoll_ctl (server->peers.epoll, EPOLL_CTL_ADD, end[0], &event) == 0) {
        asked->end = end[0];
        asked->again = deadline_never ();
    } else
        close (end[0]);
}

void asked_receive (struct server *server)
{
    struct asked *asked = &server->asked;

    if (asked->end < 0) {
        _start_child (server);
        return;
    }
    epoll_ctl (server->peers.epoll, EPOLL_CTL_DEL, asked->end, NULL);
    close (asked->end);
    asked->end = -1;
    asked->again = deadline_in_ms (ASKED_PAUSE_MS);
}

void asked_check (struct server *server)
{
    struct asked *asked = &server->asked;

    if (!deadline_passed (asked->again))
        return;
    if (asked->child > 0 && waitpid (asked->child, NULL, WNOHANG) == 0) {
        asked->again = deadline_in_ms (ASKED_PAUSE_MS);
        return;
    }
    asked->child = 0;
    asked->again = deadline_never ();
    _arm (server, EPOLL_CTL_MOD);
}

void asked_end (struct server *server)
{
    struct asked *asked = &server->asked;

    /* Its last close may wait for a file system of an asker's: that is left to exit (). */
    if (asked->listener >= 0)
        shutdown (asked->listener, SHUT_RDWR);
    if (asked->end >= 0)
        close (asked->end);
    asked->listener = asked->end = -1;
    asked->again = deadline_never ();
}
