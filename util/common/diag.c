/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "diag.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel reports each socket that fits, and ends with NLMSG_DONE, which has an error number or 0. */
static int _read_answer (int fd, diag_see_fn *see, void *arg)
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
            if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY
                && message->nlmsg_len >= NLMSG_LENGTH (sizeof (struct inet_diag_msg))) {
                found++;
                if (see)
                    see (NLMSG_DATA (message), arg);
            }
            if (message->nlmsg_type != NLMSG_DONE)
                continue;
            if (message->nlmsg_len >= NLMSG_LENGTH (sizeof (error)))
                memcpy (&error, NLMSG_DATA (message), sizeof (error));
            return error < 0 ? -1 : found;
        }
    }
}

static int _dump (int fd, int family, unsigned int states, int port, diag_see_fn *see, void *arg)
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
                     .idiag_states = states,
                     .id.idiag_sport = htons ((uint16_t)port) },
    };

    return send (fd, &message, sizeof (message), 0) < 0 ? -1 : _read_answer (fd, see, arg);
}

int diag_dump (unsigned int states, int port, diag_see_fn *see, void *arg)
{
    int fd = socket (AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), four, six = -1;

    if (fd < 0)
        return -1;
    if ((four = _dump (fd, AF_INET, states, port, see, arg)) >= 0)
        six = _dump (fd, AF_INET6, states, port, see, arg);
    close (fd);
    return six < 0 ? -1 : four + six;
}

int diag_address (int family, const void *bytes, struct address *address)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } from = { .any.sa_family = (sa_family_t)family };

    if (family == AF_INET)
        memcpy (&from.in.sin_addr, bytes, sizeof (from.in.sin_addr));
    else
        memcpy (&from.in6.sin6_addr, bytes, sizeof (from.in6.sin6_addr));
    return address_of_sockaddr (address, &from.any);
}

int diag_peer (const struct inet_diag_msg *socket, struct address *address)
{
    if (diag_address (socket->idiag_family, socket->id.idiag_dst, address) < 0)
        return -1;
    return ntohs (socket->id.idiag_dport);
}
