/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "port.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "descriptors.h"
#include "list_text.h"
#include "number.h"

/* A loopback address that no program uses. */
#define UNUSED_LOOPBACK 0x7ffffffe /* 127.255.255.254 */
#define PORT_MIN 1024
#define PORT_MAX 65535
/* Do not choose a port below this one: it may belong to a registered service that is down now. */
#define PORT_MIN_CHOICE 10000
/* The kernel may choose a port that a task has claimed; how often to try again. */
#define KERNEL_TRIES 64

struct port {
    int number;
    enum port_hold hold;
    int socket;
    int claim;          /* -1: none */
};

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
    int fd = socket (AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memset (ss, 0, sizeof (*ss));
    if (fd >= 0) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
        int off = 0;

        setsockopt (fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof (off));
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons ((uint16_t)number);
        *len = sizeof (*in6);
    } else {
        struct sockaddr_in *in = (struct sockaddr_in *)ss;

        fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        in->sin_family = AF_INET;
        in->sin_port = htons ((uint16_t)number);
        *len = sizeof (*in);
    }
    return fd;
}

static int _share (int fd)
{
    int on = 1;

    return setsockopt (fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof (on));
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

static int _reuse_address (int fd, int on)
{
    return setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof (on));
}

/*
 * An open port (port_open ()) is bound on every address, also on one that no connection in TIME_WAIT has.
 */
static bool _is_open_port (int number)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons ((uint16_t)number),
                              .sin_addr.s_addr = htonl (UNUSED_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool in_use = fd >= 0 && bind (fd, (struct sockaddr *)&in, sizeof (in)) < 0 && errno == EADDRINUSE;

    if (fd >= 0)
        close (fd);
    return in_use;
}

/*
 * bind () with SO_REUSEADDR disregards connections in TIME_WAIT. It also lets other sockets with
 * SO_REUSEADDR bind the port, until one of them listens: listen for a moment to exclude them.
 */
static int _bind_despite_time_wait (int fd, int number, const struct sockaddr_storage *ss, socklen_t len)
{
    if (_is_open_port (number)) {
        errno = EADDRINUSE;
        return -1;
    }
    if (_reuse_address (fd, 1) < 0 || bind (fd, (const struct sockaddr *)ss, len) < 0 || listen (fd, 0) < 0
        || _reuse_address (fd, 0) < 0)
        return -1;
    return shutdown (fd, SHUT_RD);
}

/* Without SO_REUSEPORT bind () fails if another socket has the port. */
static int _bind_alone (int number, bool despite_time_wait)
{
    struct sockaddr_storage ss;
    socklen_t len;
    int fd = _wildcard (number, &ss, &len), rc;

    if (fd < 0)
        return -1;
    rc = despite_time_wait ? _bind_despite_time_wait (fd, number, &ss, len)
                           : bind (fd, (struct sockaddr *)&ss, len);
    return rc < 0 ? _close_and_fail (fd) : fd;
}

/* The same; afterwards the user's server can share the port. */
static int _bind (int number, bool despite_time_wait)
{
    int fd = _bind_alone (number, despite_time_wait);

    return fd >= 0 && _share (fd) < 0 ? _close_and_fail (fd) : fd;
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

/*
 * The claim on a number is an abstract Unix socket named after it. Like a port, it belongs to the
 * network namespace and disappears with its last descriptor.
 */
static int _claim (int number)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int len = snprintf (un.sun_path + 1, sizeof (un.sun_path) - 1, "spank-tf/port/%d", number);
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0
        && bind (fd, (struct sockaddr *)&un,
                 (socklen_t)(offsetof (struct sockaddr_un, sun_path) + 1 + (size_t)len))
               < 0)
        return _close_and_fail (fd);
    return fd;
}

/* The claim on a number, or -1 without one if claims do not count. -1 and errno EADDRINUSE. */
static int _claim_number (struct port *port, bool claims_count)
{
    port->claim = claims_count ? _claim (port->number) : -1;
    return claims_count && port->claim < 0 ? -1 : 0;
}

/*
 * Take the claim and the port, or neither. Take the claim first: another task may have claimed
 * the number without having bound it yet, and its bind () must not fail.
 */
static int _take_number (struct port *port, int number, bool claims_count, bool despite_time_wait)
{
    port->number = number;
    if (_claim_number (port, claims_count) < 0)
        return -1;
    if ((port->socket = _bind (number, despite_time_wait)) < 0)
        return _close_and_fail (port->claim);
    return 0;
}

/* Take a port that the kernel chooses, and the claim on it. */
static int _take_kernel_choice (struct port *port, bool claims_count)
{
    if ((port->socket = _bind (0, false)) < 0)
        return -1;
    port->number = _bound_number (port->socket);
    if (_claim_number (port, claims_count) < 0)
        return _close_and_fail (port->socket);
    return 0;
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

/* The ports outside the kernel's ephemeral range. */
static void _outside_ephemeral (struct port_ranges *ranges)
{
    int low = 32768, high = 60999;      /* the kernel's default, if the file cannot be read */
    FILE *f = fopen ("/proc/sys/net/ipv4/ip_local_port_range", "re");

    if (f) {
        /* NOLINTNEXTLINE(cert-err34-c): the kernel has checked its numbers. */
        if (fscanf (f, "%d %d", &low, &high) != 2) {
            low = 32768;
            high = 60999;
        }
        fclose (f);
    }
    ranges->count = 0;
    if (low > PORT_MIN_CHOICE)
        ranges->range[ranges->count++] = (struct port_range){ PORT_MIN_CHOICE, low - 1 };
    if (high < PORT_MAX)
        ranges->range[ranges->count++] = (struct port_range){ high + 1, PORT_MAX };
    if (ranges->count == 0)
        ranges->range[ranges->count++] = (struct port_range){ PORT_MIN, PORT_MAX };
}

static int _take_any (struct port *port, bool claims_count)
{
    for (int i = 0; i < KERNEL_TRIES; i++)
        if (_take_kernel_choice (port, claims_count) == 0)
            return 0;
    return -1;
}

/* If every port is in use, take one on which only connections in TIME_WAIT are left. */
static int _take_from (struct port *port, const struct port_ranges *ranges, unsigned int start,
                       bool claims_count)
{
    size_t size = _size (ranges);

    for (size_t i = 0; i < 2 * size; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): the loop has no turn if size is 0. */
        if (_take_number (port, port_ranges_nth (ranges, (start + i) % size), claims_count, i >= size) == 0)
            return 0;
        else if (errno != EADDRINUSE)
            return -1;
    errno = EADDRINUSE;
    return -1;
}

static int _search_ports (struct port *port, const struct port_ranges *ranges, unsigned int start,
                          bool claims_count)
{
    return ranges->count ? _take_from (port, ranges, start, claims_count) : _take_any (port, claims_count);
}

/*
 * A held port needs no claim, because its socket stays bound. It leaves claimed numbers alone as
 * long as there are others. Then it takes one of them: every user can claim every number, and must
 * not be able to keep another one from reserving a port.
 */
static int _hold (struct port *port, const struct port_ranges *ranges, unsigned int start)
{
    if (_search_ports (port, ranges, start, true) == 0) {
        close (port->claim);
        port->claim = -1;
        return 0;
    }
    return errno == EADDRINUSE ? _search_ports (port, ranges, start, false) : -1;
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

int port_reserve (struct port **pp, const struct port_ranges *ranges, unsigned int start, enum port_hold hold,
                  struct errtext *err)
{
    struct port_ranges outside;
    struct port *port = calloc (1, sizeof (*port));
    int rc;

    if (!port)
        return errtext_set (err, "%s", strerror (ENOMEM));
    port->hold = hold;
    if (ranges->count == 0 && hold == PORT_CLAIMED) {
        _outside_ephemeral (&outside);
        ranges = &outside;
    }
    rc = hold == PORT_HELD ? _hold (port, ranges, start) : _search_ports (port, ranges, start, true);
    if (rc < 0) {
        _none_free (ranges, err);
        free (port);
        return rc;
    }
    *pp = port;
    return 0;
}

int port_number (const struct port *port)
{
    return port->number;
}

int port_open (int socket)
{
    return _reuse_address (socket, 1);
}

int port_descriptor (const struct port *port)
{
    return port->socket;
}

bool port_is_held (const struct port *port)
{
    return port->hold == PORT_HELD;
}

int port_leave (struct port *port)
{
    bool held = port_is_held (port);
    int fd = descriptors_leave_open (held ? port->socket : port->claim);

    free (port);
    return held ? fd : -1;
}

int port_bind (int number, struct errtext *err)
{
    int fd = _bind_alone (number, false);

    if (fd < 0 && errno == EADDRINUSE)
        fd = _bind_alone (number, true);
    return fd < 0 ? errtext_set (err, "port %d: %s", number, strerror (errno)) : fd;
}

int port_listen (const struct port *port, struct errtext *err)
{
    return port_listen_on (port->number, err);
}

int port_listen_on (int number, struct errtext *err)
{
    struct sockaddr_storage ss;
    socklen_t len;
    int fd = _wildcard (number, &ss, &len);

    if (fd < 0 || _share (fd) < 0 || _reuse_address (fd, 1) < 0 || bind (fd, (struct sockaddr *)&ss, len) < 0
        || listen (fd, SOMAXCONN) < 0) {
        errtext_set (err, "cannot listen on port %d: %s", number, strerror (errno));
        if (fd >= 0)
            close (fd);
        return -1;
    }
    return fd;
}

void port_release (struct port *port)
{
    int saved = errno;

    if (port) {
        close (port->socket);
        if (port->claim >= 0)
            close (port->claim);
        free (port);
    }
    errno = saved;
}
