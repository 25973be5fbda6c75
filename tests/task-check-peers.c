/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every rank listens on its port, as TensorFlow's server would, connects to every address of its
 * dictionary, and exchanges identities with the rank that listens there:
 *
 *     IDENTITY   ->   IDENTITY
 *     bye        ->   (the server closes the connection)
 *
 * An IDENTITY is "rank 1 worker 0 of step 12.0, dictionary 6c62272e07bb0142, on n2".
 */
#include "config.h"

#include "task-check.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPT_MS 1000         /* after that, try the next rank and this one again later */

/* The other end of a connection. One line at a time is sent. */
struct peer {
    int fd;
    struct rank *rank;          /* a client's rank is NULL until its IDENTITY has arrived */
    size_t len;
    char line[512];
};

static char *identity, *our_dictionary;
static char *wrong;             /* the first wrong answer; other ranks still need our own */
static int poller, listening;
static struct peer call = { .fd = -1 };
static enum { CONNECTING, REQUESTED, CLOSING } call_state;

static int64_t now_ms (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000;
}

static void peer_watch (struct peer *peer, int operation, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = peer };

    if (epoll_ctl (poller, operation, peer->fd, &event))
        die ("epoll: %s", strerror (errno));
}

static bool peer_send (const struct peer *peer, const char *line)
{
    char *text = format ("%s\n", line);
    ssize_t len = (ssize_t)strlen (text);
    bool sent = send (peer->fd, text, (size_t)len, MSG_NOSIGNAL) == len;

    free (text);
    return sent;
}

/* Returns 1 when the line is complete, 0 when it is not yet, -1 and errno when it never will be. */
static int peer_receive (struct peer *peer)
{
    ssize_t got = recv (peer->fd, peer->line + peer->len, sizeof (peer->line) - peer->len, 0);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    peer->len += (size_t)got;
    errno = ECONNRESET;
    if (got == 0 || peer->line[peer->len - 1] != '\n')
        return got == 0 || peer->len == sizeof (peer->line) ? -1 : 0;
    peer->line[peer->len - 1] = '\0';
    peer->len = 0;
    return 1;
}

static void call_end (int err)
{
    call.rank->connect_errno = err;
    close (call.fd);
    call.fd = -1;
}

static void call_begin (struct rank *rank)
{
    call = (struct peer){ .rank = rank };
    call.fd = socket (rank->sockaddr.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (call.fd < 0)
        die ("socket: %s", strerror (errno));
    if (connect (call.fd, (struct sockaddr *)&rank->sockaddr, sizeof (rank->sockaddr))
        && errno != EINPROGRESS) {
        call_end (errno);
        return;
    }
    call_state = CONNECTING;
    peer_watch (&call, EPOLL_CTL_ADD, EPOLLOUT);
}

static void answer_check (const struct rank *rank, const char *answer)
{
    size_t len = strlen (rank->identity);
    bool right = !strncmp (answer, rank->identity, len);

    if (wrong || (right && !strncmp (answer + len, our_dictionary, strlen (our_dictionary))))
        return;
    wrong = format ("%s answers \"%s\", expected \"%s%s\"", rank->address, answer, rank->identity,
                    our_dictionary);
}

static void call_event (void)
{
    int err = 0, received;
    socklen_t len = sizeof (err);

    if (call_state == CONNECTING) {
        getsockopt (call.fd, SOL_SOCKET, SO_ERROR, &err, &len);
        if (err || !peer_send (&call, identity)) {
            call_end (err ? err : errno);
            return;
        }
        call_state = REQUESTED;
        peer_watch (&call, EPOLL_CTL_MOD, EPOLLIN);
    } else if ((received = peer_receive (&call))) {
        if (call_state == CLOSING) {
            call.rank->answered = true;
            call_end (0);
        } else if (received > 0 && peer_send (&call, "bye")) {
            answer_check (call.rank, call.line);
            call_state = CLOSING;
        } else
            call_end (errno);
    }
}

/*
 * Keep one connection to another rank open at a time, which is enough where many ranks share few
 * processors. A rank that does not answer is tried again in the next round, after a longer pause.
 * Returns when to call this again.
 */
static int64_t call_next (int64_t now)
{
    static int64_t limit, round, pause = 10;
    static int turn;

    if (call.fd >= 0 && call_state != CLOSING && now >= limit)
        call_end (ETIMEDOUT);
    while (call.fd < 0 && now >= round) {
        struct rank *rank = &ranks[(me->number + turn) % rank_count];

        limit = now + ATTEMPT_MS;
        if (lists (me, rank) && !rank->answered)
            call_begin (rank);
        turn = (turn + 1) % rank_count;
        if (turn == 0) {
            round = now + pause;
            pause = pause < 200 ? pause * 2 : pause;
        }
    }
    return call.fd < 0 ? round : call_state == CLOSING ? INT64_MAX : limit;
}

static void client_accept (void)
{
    int fd = accept4 (listening, NULL, NULL, SOCK_NONBLOCK);
    struct peer *client;

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            die ("accept: %s", strerror (errno));
        return;
    }
    client = calloc (1, sizeof (*client));
    if (!client)
        die ("out of memory");
    client->fd = fd;
    peer_watch (client, EPOLL_CTL_ADD, EPOLLIN);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the epoll instance has the pointer. */
}

/* Send RST: thousands of connections in TIME_WAIT would use up the ports of later tests. */
static void client_close (struct peer *client)
{
    struct linger reset = { .l_onoff = 1 };

    setsockopt (client->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof (reset));
    close (client->fd);
    free (client);
}

/* A rank that connected to the wrong address notices it by our answer. */
static void client_event (struct peer *client)
{
    int received = peer_receive (client);

    if (!received)
        return;
    if (received > 0 && !client->rank && peer_send (client, identity)) {
        for (int i = 0; i < rank_count; i++)
            if (!strncmp (client->line, ranks[i].identity, strlen (ranks[i].identity)))
                client->rank = &ranks[i];
        return;
    }
    if (received > 0 && client->rank && !strcmp (client->line, "bye"))
        client->rank->finished = true;
    client_close (client);
}

static bool all_finished (void)
{
    for (int i = 0; i < rank_count; i++)
        if ((lists (me, &ranks[i]) && !ranks[i].answered) || (lists (&ranks[i], me) && !ranks[i].finished))
            return false;
    return true;
}

static void serve (int seconds, bool (*done) (void))
{
    struct epoll_event events[64];
    int64_t now = now_ms (), until = now + seconds * (int64_t)1000;

    for (; now < until && !(done && done ()); now = now_ms ()) {
        int64_t next = call_next (now);
        int count = epoll_wait (poller, events, 64, (int)((next < until ? next : until) - now));

        for (int i = 0; i < count; i++) {
            struct peer *peer = events[i].data.ptr;

            if (!peer)
                client_accept ();
            else if (peer == &call)
                call_event ();
            else
                client_event (peer);
        }
    }
}

void peers_check (int listener, const char *dictionary, const char *node, int seconds)
{
    struct epoll_event event = { .events = EPOLLIN };
    char *missing = format ("after %d s", seconds);

    our_dictionary = format (" dictionary %s,", dictionary);
    identity = format ("%s%s on %s", me->identity, our_dictionary, node);
    listening = listener;
    poller = epoll_create1 (0);
    if (epoll_ctl (poller, EPOLL_CTL_ADD, listening, &event))
        die ("epoll: %s", strerror (errno));
    serve (seconds, all_finished);
    for (int i = 0; i < rank_count; i++) {
        struct rank *rank = &ranks[i];

        if (lists (me, rank) && !rank->answered)
            missing =
                format ("%s, no answer from rank %d %s %d at %s (%s)", missing, i, rank->role, rank->index,
                        rank->address, rank->connect_errno ? strerror (rank->connect_errno) : "not tried");
        if (lists (rank, me) && !rank->finished)
            missing = format ("%s, no connection from rank %d %s %d", missing, i, rank->role, rank->index);
    }
    if (wrong || !all_finished ())
        die ("%s", wrong ? wrong : missing);
}

void peers_serve (int seconds)
{
    serve (seconds, NULL);
}
