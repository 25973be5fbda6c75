/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The roll call: every rank serves on its port as TensorFlow would, dials every address of
 * its dictionary and asks who is there.
 *
 *     WHO I AM   ->   WHO I AM
 *     bye        ->   (closed)
 *
 * WHO I AM is "rank 1 worker 0 of step 12.0, dictionary 6c62272e07bb0142, on n2".
 */
#include "config.h"

#include "judge.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPT_MS 1000         /* then the next rank is dialed and this one again later */

/* The other end of a connection. Lines go to and fro: one at a time is under way. */
struct peer {
    int fd;
    struct rank *rank;          /* whom we dialed; of a guest: who it showed to be, or NULL */
    size_t len;
    char line[512];
};

static char *who_i_am, *our_dictionary;
static char *wrong;             /* the first wrong answer; others still need ours, so go on */
static int poller, door;
static struct peer call = { .fd = -1 };
static enum { DIALED, ASKED, LEAVING } call_state;

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

static bool peer_tell (const struct peer *peer, const char *line)
{
    char *text = format ("%s\n", line);
    ssize_t len = (ssize_t)strlen (text);
    bool sent = send (peer->fd, text, (size_t)len, MSG_NOSIGNAL) == len;

    free (text);
    return sent;
}

/* The line is complete: 1; not yet: 0; there will be none: -1 and errno. */
static int peer_hear (struct peer *peer)
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

static void call_end (int trouble)
{
    call.rank->trouble = trouble;
    close (call.fd);
    call.fd = -1;
}

static void call_begin (struct rank *rank)
{
    call = (struct peer){ .rank = rank };
    call.fd = socket (rank->where.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (call.fd < 0)
        die ("socket: %s", strerror (errno));
    if (connect (call.fd, (struct sockaddr *)&rank->where, sizeof (rank->where))
        && errno != EINPROGRESS) {
        call_end (errno);
        return;
    }
    call_state = DIALED;
    peer_watch (&call, EPOLL_CTL_ADD, EPOLLOUT);
}

static void answer_check (const struct rank *rank, const char *answer)
{
    size_t len = strlen (rank->identity);
    bool right = !strncmp (answer, rank->identity, len);

    if (wrong || (right && !strncmp (answer + len, our_dictionary, strlen (our_dictionary))))
        return;
    wrong = format ("%s answers \"%s\", expected \"%s%s\"", rank->address, answer,
                    rank->identity, our_dictionary);
}

static void call_event (void)
{
    int err = 0, heard;
    socklen_t len = sizeof (err);

    if (call_state == DIALED) {
        getsockopt (call.fd, SOL_SOCKET, SO_ERROR, &err, &len);
        if (err || !peer_tell (&call, who_i_am)) {
            call_end (err ? err : errno);
            return;
        }
        call_state = ASKED;
        peer_watch (&call, EPOLL_CTL_MOD, EPOLLIN);
    } else if ((heard = peer_hear (&call))) {
        if (call_state == LEAVING) {
            call.rank->answered = true;
            call_end (0);
        } else if (heard > 0 && peer_tell (&call, "bye")) {
            answer_check (call.rank, call.line);
            call_state = LEAVING;
        } else
            call_end (errno);
    }
}

/*
 * Keep one call going, which is enough where many ranks share few processors. Who does not
 * answer is called again in the next round; the rounds become rarer. When is more to do?
 */
static int64_t call_tend (int64_t now)
{
    static int64_t limit, round, pause = 10;
    static int turn;

    if (call.fd >= 0 && call_state != LEAVING && now >= limit)
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
    return call.fd < 0 ? round : call_state == LEAVING ? INT64_MAX : limit;
}

static void guest_begin (void)
{
    int fd = accept4 (door, NULL, NULL, SOCK_NONBLOCK);
    struct peer *guest;

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            die ("accept: %s", strerror (errno));
        return;
    }
    guest = calloc (1, sizeof (*guest));
    if (!guest)
        die ("out of memory");
    guest->fd = fd;
    peer_watch (guest, EPOLL_CTL_ADD, EPOLLIN);
}

/* By a reset: thousands of connections in TIME_WAIT would be in the way of the next ports. */
static void guest_end (struct peer *guest)
{
    struct linger reset = { .l_onoff = 1 };

    setsockopt (guest->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof (reset));
    close (guest->fd);
    free (guest);
}

/* Who is wrong here learns it from our answer; who is right is counted. */
static void guest_event (struct peer *guest)
{
    int heard = peer_hear (guest);

    if (!heard)
        return;
    if (heard > 0 && !guest->rank && peer_tell (guest, who_i_am)) {
        for (int i = 0; i < rank_count; i++)
            if (!strncmp (guest->line, ranks[i].identity, strlen (ranks[i].identity)))
                guest->rank = &ranks[i];
        return;
    }
    if (heard > 0 && guest->rank && !strcmp (guest->line, "bye"))
        guest->rank->said_bye = true;
    guest_end (guest);
}

static bool roll_is_complete (void)
{
    for (int i = 0; i < rank_count; i++)
        if ((lists (me, &ranks[i]) && !ranks[i].answered)
            || (lists (&ranks[i], me) && !ranks[i].said_bye))
            return false;
    return true;
}

static void serve (int seconds, bool (*done) (void))
{
    struct epoll_event events[64];
    int64_t now = now_ms (), until = now + seconds * (int64_t)1000;

    for (; now < until && !(done && done ()); now = now_ms ()) {
        int64_t next = call_tend (now);
        int count = epoll_wait (poller, events, 64, (int)((next < until ? next : until) - now));

        for (int i = 0; i < count; i++) {
            struct peer *peer = events[i].data.ptr;

            if (!peer)
                guest_begin ();
            else if (peer == &call)
                call_event ();
            else
                guest_event (peer);
        }
    }
}

void roll_call (int listener, const char *dictionary, const char *node, int seconds)
{
    struct epoll_event event = { .events = EPOLLIN };
    char *missing = format ("after %d s", seconds);

    our_dictionary = format (" dictionary %s,", dictionary);
    who_i_am = format ("%s%s on %s", me->identity, our_dictionary, node);
    door = listener;
    poller = epoll_create1 (0);
    if (epoll_ctl (poller, EPOLL_CTL_ADD, door, &event))
        die ("epoll: %s", strerror (errno));
    serve (seconds, roll_is_complete);
    for (int i = 0; i < rank_count; i++) {
        struct rank *rank = &ranks[i];

        if (lists (me, rank) && !rank->answered)
            missing = format ("%s, no answer from rank %d %s %d at %s (%s)", missing, i,
                              rank->role, rank->index, rank->address,
                              rank->trouble ? strerror (rank->trouble) : "not dialed");
        if (lists (rank, me) && !rank->said_bye)
            missing = format ("%s, no good-bye from rank %d %s %d", missing, i, rank->role,
                              rank->index);
    }
    if (wrong || !roll_is_complete ())
        die ("%s", wrong ? wrong : missing);
}

void roll_linger (int seconds)
{
    serve (seconds, NULL);
}
