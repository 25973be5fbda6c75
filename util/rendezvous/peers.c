/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "peers.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/tcp.h"

/* A rank sends the token at once. */
#define AUTHENTICATE_MS 10000
/* Unauthenticated connections beside those of the missing ranks. */
#define MAX_UNAUTHENTICATED 512
/* In one round, so that a flood of connections does not starve those that exist. */
#define MAX_ACCEPTS 64
/* Before the next attempt to accept, when the machine has no free file. */
#define ACCEPT_PAUSE_MS 10

int peers_init (struct peers *peers, int listener)
{
    memset (peers, 0, sizeof (*peers));
    peers->listener = listener;
    if ((peers->epoll = epoll_create1 (EPOLL_CLOEXEC)) < 0)
        return -1;
    peers_watch_fd (peers, listener);
    return 0;
}

void peers_clear (struct peers *peers, const struct roster *roster)
{
    while (peers->oldest)
        peer_close (peers, peers->oldest);
    for (int i = 0; i < roster->tasks; i++)
        if (roster->rank[i].peer)
            peer_close (peers, roster->rank[i].peer);
    peers_free_closed (peers);
    close (peers->epoll);
}

void peers_watch_fd (const struct peers *peers, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

    epoll_ctl (peers->epoll, EPOLL_CTL_ADD, fd, &event);
}

static bool _accept_one (struct peers *peers, int most)
{
    struct sockaddr_storage from = { 0 };
    socklen_t length = sizeof (from);
    int fd = accept4 (peers->listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN };
    struct peer *peer;

    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && peers->oldest) {
        peer_close (peers, peers->oldest);
        return true;
    }
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        poll (NULL, 0, ACCEPT_PAUSE_MS);
    if (fd < 0)
        return errno == EINTR || errno == ECONNABORTED;
    if (!(peer = calloc (1, sizeof (*peer)))) {
        close (fd);
        return true;
    }
    peer->fd = fd;
    address_of_sockaddr (&peer->from, (struct sockaddr *)&from);
    peer->reader.ceiling = FRAME_MAX_REGISTRATION;
    peer->events = event.events;
    peer->timeout = deadline_in_ms (AUTHENTICATE_MS);
    peer->older = peers->newest;
    *(peers->newest ? &peers->newest->newer : &peers->oldest) = peer;
    peers->newest = peer;
    if (++peers->unauthenticated > most)
        peer_close (peers, peers->oldest);
    event.data.ptr = peer;
    epoll_ctl (peers->epoll, EPOLL_CTL_ADD, fd, &event);
    return true;
}

void peers_accept (struct peers *peers, int missing, int room)
{
    int most = MAX_UNAUTHENTICATED + missing < room ? MAX_UNAUTHENTICATED + missing : room;

    for (int i = 0; i < MAX_ACCEPTS && _accept_one (peers, most); i++)
        ;
}

static void _unlink_unauthenticated (struct peers *peers, struct peer *peer)
{
    *(peer->older ? &peer->older->newer : &peers->oldest) = peer->newer;
    *(peer->newer ? &peer->newer->older : &peers->newest) = peer->older;
    peer->older = peer->newer = NULL;
    peers->unauthenticated--;
}

void peer_set_state (struct peer *peer, enum peer_state state)
{
    peer->state = state;
    peer->rank->link = state == PEER_SUPERVISED && !peer_is_sending (peer) ? LINK_UP : LINK_BUSY;
}

void peer_set_rank (struct peers *peers, struct peer *peer, struct rank *rank, enum peer_state state)
{
    _unlink_unauthenticated (peers, peer);
    if (rank->peer)
        peer_close (peers, rank->peer);
    peer->rank = rank;
    /* After its first frame a rank sends nothing else. */
    peer->reader.ceiling = FRAME_MAX_EXIT_REPORT;
    rank->peer = peer;
    rank->silent = false;
    peer_set_state (peer, state);
}

int peer_send_answer (const struct peers *peers, struct peer *peer)
{
    struct answer_message *answer = &peer->answer;
    struct epoll_event event = { .data.ptr = peer };

    while (peer->part < ANSWER_PARTS) {
        struct iovec *part = &answer->part[peer->part];
        struct msghdr msg = { .msg_iov = part, .msg_iovlen = (size_t)(ANSWER_PARTS - peer->part) };
        ssize_t n = sendmsg (peer->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n < 0)
            return -1;
        for (; peer->part < ANSWER_PARTS && (size_t)n >= part->iov_len; part++) {
            n -= (ssize_t)part->iov_len;
            peer->part++;
        }
        if (peer->part < ANSWER_PARTS) {
            part->iov_base = (char *)part->iov_base + n;
            part->iov_len -= (size_t)n;
        }
    }
    event.events = peer->part < ANSWER_PARTS ? EPOLLOUT : EPOLLIN;
    if (peer->events != event.events)
        epoll_ctl (peers->epoll, EPOLL_CTL_MOD, peer->fd, &event);
    peer->events = event.events;
    if (peer->rank)
        peer_set_state (peer, peer->state);
    return peer->part == ANSWER_PARTS;
}

bool peer_is_sending (const struct peer *peer)
{
    return peer->answer.head && peer->part < ANSWER_PARTS;
}

int peer_send (struct peer *peer, struct frame *frame)
{
    size_t length = 0;
    const void *bytes = frame ? frame_bytes (frame, 0, &length) : NULL;
    ssize_t n = bytes ? send (peer->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;

    frame_destroy (frame);
    return n == (ssize_t)length && n > 0 ? 0 : -1;
}

bool peer_is_open (const struct peer *peer)
{
    char dropped[512];
    ssize_t n = recv (peer->fd, dropped, sizeof (dropped), 0);

    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/*
 * All of peer_close () but the socket. Closing it is not enough: epoll goes on to watch it as long as another
 * process has it, as one of tf-notify that has just been forked.
 */
static void _forget (struct peers *peers, struct peer *peer)
{
    epoll_ctl (peers->epoll, EPOLL_CTL_DEL, peer->fd, NULL);
    if (peer->state == PEER_UNAUTHENTICATED)
        _unlink_unauthenticated (peers, peer);
    else if (peer->rank->peer == peer) {
        peer->rank->peer = NULL;
        peer->rank->link = LINK_NONE;
    }
    frame_reader_clear (&peer->reader);
    answer_message_clear (&peer->answer);
    peer->state = PEER_CLOSED;
    peer->older = peers->closed;
    peers->closed = peer;
}

void peer_close (struct peers *peers, struct peer *peer)
{
    _forget (peers, peer);
    close (peer->fd);
}

void peer_abort (struct peers *peers, struct peer *peer)
{
    _forget (peers, peer);
    tcp_abort (peer->fd);
}

void peers_free_closed (struct peers *peers)
{
    while (peers->closed) {
        struct peer *peer = peers->closed;

        peers->closed = peer->older;
        free (peer);
    }
}
