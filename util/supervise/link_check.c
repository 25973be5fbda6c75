/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "link_check.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/port.h"
#include "common/tcp.h"
#include "protocol/contact.h"

/* So long data is sent in each direction, and at most so much. */
#define SEND_MS 100
#define MOST_BYTES (INT64_C (1) << 26)
/* So many connections may have shown nothing yet; one more closes the oldest. */
#define MOST_WAITING 16
#define TOKEN_LENGTH ((size_t)CONTACT_TOKEN - 1)
/* The other node may not listen yet. */
#define AGAIN_MS 20
#define BUFFER (1 << 20)

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

/* Pieces for a while, each with a byte 1 first; then a byte 0, which the other one answers. */
static int _send_data (int fd, struct deadline deadline)
{
    int64_t begun = _now_us (), sent = 0;
    char byte;

    buffer[0] = 1; /* the rest is whatever came before */
    while (_now_us () - begun < SEND_MS * 1000 && sent < MOST_BYTES) {
        if (_send_all (fd, buffer, sizeof (buffer), deadline) < 0)
            return -1;
        sent += (int64_t)sizeof (buffer);
    }
    byte = 0;
    if (_send_all (fd, &byte, 1, deadline) < 0 || _receive_all (fd, &byte, 1, deadline) < 0)
        return -1;
    sent = sent * 1000 / (_now_us () - begun + 1);
    return sent < 1 ? 1 : sent > INT32_MAX ? INT32_MAX : (int)sent;
}

static int _receive_data (int fd, struct deadline deadline)
{
    char byte;

    for (;;) {
        if (_receive_all (fd, &byte, 1, deadline) < 0)
            return -1;
        if (byte == 0)
            return _send_all (fd, &byte, 1, deadline);
        if (_receive_all (fd, buffer, sizeof (buffer) - 1, deadline) < 0)
            return -1;
    }
}

static void _limit_buffer (int fd)
{
    static const int size = BUFFER;

    /* More would take too long to arrive on a slow link. */
    setsockopt (fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof (size));
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

/* -1: the connection broke. */
static int _serve (const struct link_peer *peer, int fd, struct deadline deadline)
{
    int rate = -1;

    if (_send_all (fd, peer->server_token, TOKEN_LENGTH, deadline) < 0)
        return -1;
    _limit_buffer (fd);
    if (_receive_data (fd, deadline) == 0)
        rate = _send_data (fd, deadline);
    return rate > 0 ? _send_all (fd, &rate, sizeof (rate), deadline) : -1;
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
    int fd = tcp_connect (&peer->address, peer->port, deadline);
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
    int fd = _connect_again (peer, deadline), out, in = -1;

    if (fd < 0)
        return errtext_set (err, "%s", strerror (errno));
    _limit_buffer (fd);
    out = _send_data (fd, deadline);
    if (out > 0 && (_receive_data (fd, deadline) < 0 || _receive_all (fd, &in, sizeof (in), deadline) < 0))
        in = -1;
    close (fd);
    if (out <= 0 || in <= 0)
        return errtext_set (err, "the connection broke, or is too slow");
    return out < in ? out : in;
}

int link_check (const struct link_peer *peer, int ms, struct errtext *err)
{
    struct deadline deadline = deadline_in_ms (ms);

    return peer->serves ? _measure_as_server (peer, deadline, err) : _measure_as_client (peer, deadline, err);
}
