/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "listener.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server listens as long as its program works, so one that starts late is seen, too. */
#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 30000

/* The kernel reports each socket that fits, and ends with NLMSG_DONE, which has an error number or 0. */
static int _read_answer (int fd)
{
    union {
        struct nlmsghdr header;
        char bytes[8192];
    } room;
    int found = 0;

    for (;;) {
        ssize_t n = recv (fd, &room, sizeof (room), MSG_DONTWAIT);
        unsigned int left = n > 0 ? (unsigned int)n : 0;
        struct nlmsghdr *message = &room.header;

        if (n <= 0 || !NLMSG_OK (message, left))
            return -1;
        for (; NLMSG_OK (message, left); message = NLMSG_NEXT (message, left)) {
            int error = 0;

            if (message->nlmsg_type == NLMSG_ERROR)
                return -1;
            if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY)
                found = 1;
            if (message->nlmsg_type != NLMSG_DONE)
                continue;
            if (message->nlmsg_len >= NLMSG_LENGTH (sizeof (error)))
                memcpy (&error, NLMSG_DATA (message), sizeof (error));
            return error < 0 ? -1 : found;
        }
    }
}

static int _find (int fd, int family, int port)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } message = {
        .header = { .nlmsg_len = sizeof (message),
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
        .request = { .sdiag_family = (unsigned char)family,
                     .sdiag_protocol = IPPROTO_TCP,
                     .idiag_states = 1U << TCP_LISTEN,
                     .id.idiag_sport = htons ((uint16_t)port) },
    };

    return send (fd, &message, sizeof (message), 0) < 0 ? -1 : _read_answer (fd);
}

int listener_find (int port)
{
    int fd = socket (AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), found = -1;

    if (fd < 0)
        return -1;
    if ((found = _find (fd, AF_INET, port)) == 0)
        found = _find (fd, AF_INET6, port);
    close (fd);
    return found;
}

void listener_init (struct listener *l, int port, int master_port)
{
    *l = (struct listener){ .port = { port, master_port },
                            .hidden = port == 0 && master_port == 0,
                            .pause_ms = PAUSE_MIN_MS };
    l->due = deadline_never ();
}

void listener_begin (struct listener *l)
{
    l->pause_ms = PAUSE_MIN_MS;
    l->due = l->use == ADDRESS_USED || l->hidden ? deadline_never () : deadline_in_ms (l->pause_ms);
}

bool listener_is_young (const struct listener *l)
{
    return l->pause_ms < PAUSE_MAX_MS;
}

void listener_hide (struct listener *l)
{
    l->hidden = true;
    l->use = ADDRESS_UNKNOWN;
    l->due = deadline_never ();
}

void listener_look (struct listener *l)
{
    if (!deadline_passed (l->due))
        return;
    l->use = ADDRESS_UNUSED;
    for (size_t i = 0; i < sizeof (l->port) / sizeof (l->port[0]); i++) {
        int found = l->port[i] ? listener_find (l->port[i]) : 0;

        if (found > 0) {
            l->use = ADDRESS_USED;
            l->due = deadline_never ();
            return;
        }
        if (found < 0) {
            listener_hide (l);
            return;
        }
    }
    l->pause_ms = 2 * l->pause_ms < PAUSE_MAX_MS ? 2 * l->pause_ms : PAUSE_MAX_MS;
    l->due = deadline_in_ms (l->pause_ms);
}
