/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "link_check.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/port.h"
#include "common/tcp.h"
#include "protocol/contact.h"

/*
 * Both nodes send at once, until the one that connects has seen enough: so long, and so much in either
 * direction; or very much; or the longest time.
 */
#define LEAST_MS 100
#define LEAST_BYTES (INT64_C (1) << 20)
#define MOST_BYTES (INT64_C (1) << 26)
#define MOST_MS 1000
/* The kernel of a node that is reached answers, whatever listens; one packet may be lost. */
#define ANSWER_MS 1500
/* So many connections may have shown nothing yet; one more closes the oldest. */
#define MOST_WAITING 16
#define TOKEN_LENGTH ((size_t)CONTACT_TOKEN - 1)
/* The other node may not listen yet. */
#define AGAIN_MS 20

static char buffer[256 * 1024];

static int64_t _now_us (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C (1000000) + now.tv_nsec / 1000;
}

/* All of it, or -1. */
static int _send_all (int fd, const void *bytes, size_t length, struct deadline deadline)
{
    const char *next = bytes;

    while (length > 0) {
        ssize_t n = send (fd, next, length, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && (errno != EAGAIN || !deadline_wait (fd, POLLOUT, deadline)))
            return -1;
        next += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int _receive_all (int fd, void *bytes, size_t length, struct deadline deadline)
{
    char *next = bytes;

    while (length > 0) {
        ssize_t n = recv (fd, next, length, MSG_DONTWAIT);

        if (n == 0 || (n < 0 && (errno != EAGAIN || !deadline_wait (fd, POLLIN, deadline))))
            return -1;
        next += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Bytes of either direction. */
struct flow {
    int64_t sent, received;
};

/* What there is room for, and what has come. False: the connection has ended, or the deadline has passed. */
static bool _transfer (int fd, struct flow *flow, struct deadline deadline)
{
    struct pollfd pfd = { .fd = fd, .events = flow->sent < MOST_BYTES ? POLLIN | POLLOUT : POLLIN };
    ssize_t n;

    if (poll (&pfd, 1, deadline_left_ms (deadline)) <= 0)
        return !deadline_passed (deadline);
    if (pfd.revents & POLLOUT && (n = send (fd, buffer, sizeof (buffer), MSG_NOSIGNAL | MSG_DONTWAIT)) > 0)
        flow->sent += n;
    if (!(pfd.revents & ~POLLOUT))
        return true;
    if ((n = recv (fd, buffer, sizeof (buffer), MSG_DONTWAIT)) > 0)
        flow->received += n;
    return n > 0 || (n < 0 && errno == EAGAIN);
}

static bool _is_enough (const struct flow *flow, int64_t us)
{
    int64_t least = flow->sent < flow->received ? flow->sent : flow->received;

    return least >= MOST_BYTES || (least >= LEAST_BYTES && us >= LEAST_MS * INT64_C (1000))
           || us >= MOST_MS * INT64_C (1000);
}

/* The rate of the slower direction in kB/s; 0: nothing got through. */
static int _measure (int fd)
{
    struct deadline deadline = deadline_in_ms (MOST_MS);
    struct flow flow = { .sent = 0 };
    int64_t begun = _now_us (), us = 0, through;
    int queued = 0;

    while (!_is_enough (&flow, us) && _transfer (fd, &flow, deadline))
        us = _now_us () - begun;
    /* What the other node has not acknowledged may be in this node still. */
    ioctl (fd, SIOCOUTQ, &queued);
    through = flow.sent - queued < flow.received ? flow.sent - queued : flow.received;
    through = through * 1000 / (us + 1);
    return through > INT32_MAX ? INT32_MAX : (int)through;
}

/* In constant time. */
static bool _is_token (const char *text, const char *token)
{
    unsigned char differ = 0;

    for (size_t i = 0; i < TOKEN_LENGTH; i++)
        differ |= (unsigned char)(text[i] ^ token[i]);
    return differ == 0;
}

/* The other one sends its token at once, so it comes as one piece. */
static bool _shows_token (int fd, const char *token)
{
    char text[TOKEN_LENGTH];

    return recv (fd, text, sizeof (text), MSG_DONTWAIT) == (ssize_t)sizeof (text) && _is_token (text, token);
}

/* The one of these that shows the token, or -1. What has shown something else is closed. */
static int _find_peer (struct pollfd waiting[MOST_WAITING], const char *token)
{
    int found = -1;

    for (int i = 0; i < MOST_WAITING; i++) {
        if (waiting[i].fd < 0 || !waiting[i].revents)
            continue;
        if (found < 0 && _shows_token (waiting[i].fd, token))
            found = waiting[i].fd;
        else
            close (waiting[i].fd);
        waiting[i].fd = -1;
    }
    return found;
}

/* Anybody can connect and say nothing, which keeps the other node from nothing. -1: it has not come. */
static int _accept_peer (const struct link_peer *peer, int listener, struct deadline deadline)
{
    struct pollfd waiting[MOST_WAITING + 1];
    int next = 0, found = -1;

    for (int i = 0; i <= MOST_WAITING; i++)
        waiting[i] = (struct pollfd){ .fd = i < MOST_WAITING ? -1 : listener, .events = POLLIN };
    while (found < 0 && poll (waiting, MOST_WAITING + 1, deadline_left_ms (deadline)) > 0) {
        found = _find_peer (waiting, peer->token);
        if (!waiting[MOST_WAITING].revents)
            continue;
        if (waiting[next].fd >= 0)
            close (waiting[next].fd);
        waiting[next].fd = accept4 (listener, NULL, NULL, SOCK_CLOEXEC);
        next = (next + 1) % MOST_WAITING;
    }
    for (int i = 0; i < MOST_WAITING; i++)
        if (waiting[i].fd >= 0)
            close (waiting[i].fd);
    return found;
}

/* Until the other node has seen enough. */
static int _serve (const struct link_peer *peer, int fd, struct deadline deadline)
{
    struct flow flow = { .sent = 0 };

    if (_send_all (fd, peer->server_token, TOKEN_LENGTH, deadline) < 0)
        return -1;
    while (_transfer (fd, &flow, deadline))
        continue;
    return 0;
}

static int _measure_as_server (const struct link_peer *peer, struct deadline deadline, struct errtext *err)
{
    int listener = port_listen_on (peer->port, err), fd, rc;

    if (listener < 0)
        return -1;
    fd = _accept_peer (peer, listener, deadline);
    close (listener);
    if (fd < 0)
        return errtext_set (err, "no connection came");
    rc = _serve (peer, fd, deadline);
    close (fd);
    return rc < 0 ? errtext_set (err, "the connection broke") : 0;
}

/* Show the token, and see the other one's; or -1 and errno. */
static int _connect_to_peer (const struct link_peer *peer, struct deadline deadline)
{
    int fd = tcp_connect (&peer->address, peer->port, deadline_min (deadline, deadline_in_ms (ANSWER_MS)));
    char token[TOKEN_LENGTH];

    if (fd < 0)
        return -1;
    if (_send_all (fd, peer->token, TOKEN_LENGTH, deadline) == 0
        && _receive_all (fd, token, sizeof (token), deadline) == 0 && _is_token (token, peer->server_token))
        return fd;
    close (fd);
    errno = ECONNREFUSED;
    return -1;
}

/* The other node may not listen yet, or it was flooded with connections and has closed this one. */
static int _connect_again (const struct link_peer *peer, struct deadline deadline)
{
    int fd;

    while ((fd = _connect_to_peer (peer, deadline)) < 0 && errno == ECONNREFUSED
           && !deadline_passed (deadline))
        poll (NULL, 0, AGAIN_MS);
    return fd;
}

static int _measure_as_client (const struct link_peer *peer, struct deadline deadline, struct errtext *err)
{
    int fd = _connect_again (peer, deadline), rate;

    if (fd < 0)
        return errtext_set (err, "%s", strerror (errno));
    rate = _measure (fd);
    /* What is on its way is of no use. */
    tcp_abort (fd);
    return rate > 0 ? rate : errtext_set (err, "the connection broke, or nothing gets through");
}

int link_check (const struct link_peer *peer, int ms, struct errtext *err)
{
    struct deadline deadline = deadline_in_ms (ms);

    return peer->serves ? _measure_as_server (peer, deadline, err) : _measure_as_client (peer, deadline, err);
}
