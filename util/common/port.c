/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "port.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "address.h"
#include "descriptors.h"
#include "list_text.h"
#include "number.h"

/* A loopback address that no program uses. */
#define UNUSED_LOOPBACK 0x7ffffffe /* 127.255.255.254 */
#define PORT_MIN 1024
#define PORT_MAX 65535

/* Parse LOW-HIGH or PORT at *text and move *text behind it. -1 if it is neither. */
static int _parse_range (struct port_range *range, const char **text)
{
    if ((range->low = range->high = number_scan (text, PORT_MAX)) < 0)
        return -1;
    if (**text == '-') {
        ++*text;
        if ((range->high = number_scan (text, PORT_MAX)) < 0)
            return -1;
    }
    return **text == ',' || **text == '\0' ? 0 : -1;
}

/* `text` is what the user wrote, for the message. */
static int _check_bounds (const struct port_range *range, const char *text, struct errtext *err)
{
    if (range->low > PORT_MAX || range->high > PORT_MAX)
        return errtext_set (err, "\"%s\" goes beyond %d, the highest port number", text, PORT_MAX);
    if (range->low < PORT_MIN || range->high < PORT_MIN)
        return errtext_set (err,
                            "\"%s\" has privileged ports; the lowest port that a user's "
                            "program can bind is %d",
                            text, PORT_MIN);
    if (range->low > range->high)
        return errtext_set (err, "\"%s\" is reversed; did you mean %d-%d?", text, range->high, range->low);
    return 0;
}

int port_ranges_parse (struct port_ranges *ranges, const char *text, struct errtext *err)
{
    struct quoted q;

    ranges->count = 0;
    if (strcmp (text, PORT_RANGES_ANY) == 0)
        return 0;
    text_quoted (&q, text, strlen (text));
    for (const char *p = text;; p++) {
        struct port_range range;

        if (ranges->count == PORT_MAX_RANGES)
            return errtext_set (err, "\"%s\" has more than %d ranges", q.text, PORT_MAX_RANGES);
        if (_parse_range (&range, &p) < 0)
            return errtext_set (err,
                                "\"%s\" is not a range of ports; a range is LOW-HIGH, as in "
                                "30000-30999",
                                q.text);
        if (_check_bounds (&range, q.text, err) < 0)
            return -1;
        ranges->range[ranges->count++] = range;
        if (*p == '\0')
            return 0;
    }
}

/* A dual-stack socket, or an IPv4 one if the node has no IPv6, and the address to bind it to. */
static int _wildcard (int number, struct sockaddr_storage *ss, socklen_t *len)
{
    struct address any = { .family = AF_INET6 };
    int fd = socket (AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;

    if (fd >= 0)
        setsockopt (fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof (off));
    else {
        any.family = AF_INET;
        fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    }
    *len = address_sockaddr (&any, number, ss);
    return fd;
}

/* Returns -1 and keeps errno. */
static int _close_and_fail (int fd)
{
    int saved = errno;

    if (fd >= 0)
        close (fd);
    errno = saved;
    return -1;
}

static int _set_option (int fd, int option, int value)
{
    return setsockopt (fd, SOL_SOCKET, option, &value, sizeof (value));
}

static int _reuse_address (int fd)
{
    return _set_option (fd, SO_REUSEADDR, 1);
}

/*
 * Bind a number on this address alone, where no connection in TIME_WAIT is in the way. That fails if a task
 * holds the number, or is just about to. -1 and EADDRINUSE; the socket excludes every other guard.
 */
static int _bind_guard (int number)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons ((uint16_t)number),
                              .sin_addr.s_addr = htonl (UNUSED_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind (fd, (struct sockaddr *)&in, sizeof (in)) == 0 && _reuse_address (fd) == 0)
        return fd;
    _close_and_fail (fd);
    errno = EADDRINUSE;
    return -1;
}

/*
 * bind () with SO_REUSEADDR disregards connections in TIME_WAIT, and other sockets that have it and do not
 * listen. So that these are no other task's, it binds under a guard, which is exclusive until it is bound.
 */
static int _bind_despite_time_wait (int fd, int number, const struct sockaddr_storage *ss, socklen_t len)
{
    int guard = _bind_guard (number), rc;

    if (guard < 0)
        return -1;
    rc = _reuse_address (fd) < 0 || bind (fd, (const struct sockaddr *)ss, len) < 0 ? -1 : 0;
    if (rc < 0)
        return _close_and_fail (guard);
    close (guard);
    return 0;
}

/*
 * A socket that listens excludes all others. One that is bound and does not have SO_REUSEADDR does so, too:
 * it stays so when it does not listen any more.
 */
static int _listen_alone (int fd)
{
    return listen (fd, SOMAXCONN) < 0 ? -1 : _set_option (fd, SO_REUSEADDR, 0);
}

/*
 * Without SO_REUSEADDR bind () fails if another socket has the port, whatever that one has set. With it
 * afterwards, a server that sets it, too, can bind the port.
 */
static int _bind (int number, enum port_use use, bool despite_time_wait)
{
    struct sockaddr_storage ss;
    socklen_t len;
    int fd = _wildcard (number, &ss, &len), rc;

    if (fd < 0)
        return -1;
    if (despite_time_wait)
        rc = _bind_despite_time_wait (fd, number, &ss, len);
    else
        rc = bind (fd, (struct sockaddr *)&ss, len);
    if (rc == 0)
        rc = use == PORT_TO_LISTEN ? _listen_alone (fd) : _reuse_address (fd);
    return rc < 0 ? _close_and_fail (fd) : fd;
}

static int _bound_number (int fd)
{
    struct sockaddr_storage ss = { 0 };
    socklen_t len = sizeof (ss);

    if (getsockname (fd, (struct sockaddr *)&ss, &len) < 0)
        return -1;
    /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): getsockname () has set it. */
    return ntohs (ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                           : ((struct sockaddr_in *)&ss)->sin_port);
}

static size_t _size (const struct port_ranges *ranges)
{
    size_t size = 0;

    for (size_t i = 0; i < ranges->count; i++)
        size += (size_t)(ranges->range[i].high - ranges->range[i].low) + 1;
    return size;
}

int port_ranges_nth (const struct port_ranges *ranges, size_t n)
{
    for (size_t i = 0; i < ranges->count; i++) {
        size_t size = (size_t)(ranges->range[i].high - ranges->range[i].low) + 1;

        if (n < size)
            return ranges->range[i].low + (int)n;
        n -= size;
    }
    return -1;
}

/* A new socket with SO_REUSEADDR, and with this option, that listens. -1 and errno. */
static int _listen_on (int number, int option)
{
    struct sockaddr_storage ss;
    socklen_t len;
    int fd = _wildcard (number, &ss, &len);

    if (fd < 0 || _reuse_address (fd) < 0 || _set_option (fd, option, 1) < 0
        || bind (fd, (struct sockaddr *)&ss, len) < 0 || listen (fd, SOMAXCONN) < 0)
        return _close_and_fail (fd);
    return fd;
}

/* While this socket listens, one of the same user begins to. */
static int _listen_beside (int fd)
{
    return _set_option (fd, SO_REUSEPORT, 1) < 0 ? -1 : _listen_on (_bound_number (fd), SO_REUSEPORT);
}

/* shutdown () takes a number away that the kernel has chosen. So one that listens gets it by its number. */
static int _bind_any (enum port_use use)
{
    int fd = _bind (0, use, false), named;

    if (fd < 0 || use == PORT_FOR_A_SERVER)
        return fd;
    if ((named = _listen_beside (fd)) >= 0)
        _set_option (named, SO_REUSEADDR, 0);
    _close_and_fail (fd);
    return named;
}

/* If every port is in use, take one on which only connections in TIME_WAIT are left. */
static int _bind_one_of (const struct port_ranges *ranges, unsigned int start, enum port_use use)
{
    size_t size = _size (ranges);
    int fd;

    for (size_t i = 0; i < 2 * size; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): the loop has no turn if size is 0. */
        if ((fd = _bind (port_ranges_nth (ranges, (start + i) % size), use, i >= size)) >= 0)
            return fd;
        else if (errno != EADDRINUSE)
            return -1;
    errno = EADDRINUSE;
    return -1;
}

static int _none_free (const struct port_ranges *ranges, struct errtext *err)
{
    char text[256], range[32];
    struct list_text list = { text, sizeof (text), ",", 0, 0, 0 };

    if (errno != EADDRINUSE || ranges->count == 0)
        return errtext_set (err, "no port can be bound: %s", strerror (errno));
    for (size_t i = 0; i < ranges->count; i++) {
        snprintf (range, sizeof (range), "%d-%d", ranges->range[i].low, ranges->range[i].high);
        list_text_add (&list, range);
    }
    return errtext_set (err, "no port of %s is free", list_text_end (&list));
}

int port_reserve (struct port **pp, const struct port_ranges *ranges, unsigned int start, enum port_use use,
                  struct errtext *err)
{
    int fd = ranges->count ? _bind_one_of (ranges, start, use) : _bind_any (use);
    struct port *port;

    if (fd < 0)
        return _none_free (ranges, err);
    if (!(port = calloc (1, sizeof (*port)))) {
        close (fd);
        return errtext_set (err, "%s", strerror (ENOMEM));
    }
    *port = (struct port){ .number = _bound_number (fd), .socket = fd };
    *pp = port;
    return 0;
}

void port_leave (struct port *port)
{
    descriptors_leave_open (port->socket);
    free (port);
}

int port_listen_on (int number, struct errtext *err)
{
    int fd = _listen_on (number, SO_REUSEADDR);

    return fd < 0 ? errtext_set (err, "cannot listen on port %d: %s", number, strerror (errno)) : fd;
}

/* srun --uid: root has made the socket, and SO_REUSEPORT shares a port between sockets of one user only. */
static bool _is_of_another_user (const struct port *port)
{
    struct stat st;

    return fstat (port->socket, &st) == 0 && st.st_uid != geteuid ();
}

/* Then there is a moment in which none listens. */
static int _listen_after (const struct port *port, struct errtext *err)
{
    int fd;

    _reuse_address (port->socket);
    shutdown (port->socket, SHUT_RD);
    fd = port_listen_on (port->number, err);
    _set_option (port->socket, SO_REUSEADDR, 0);
    return fd;
}

int port_listen_anew (const struct port *port, struct errtext *err)
{
    int fd;

    if (_is_of_another_user (port))
        return _listen_after (port, err);
    if ((fd = _listen_beside (port->socket)) < 0)
        return errtext_set (err, "cannot listen on port %d: %s", port->number, strerror (errno));
    shutdown (port->socket, SHUT_RD);
    return fd;
}

void port_release (struct port *port)
{
    int saved = errno;

    if (port) {
        close (port->socket);
        free (port);
    }
    errno = saved;
}
