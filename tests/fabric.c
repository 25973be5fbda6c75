/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fabric: one rail of an InfiniBand network, without hardware.
 *
 *     fabric DEVICE NAMESPACE...
 *
 * NAMESPACE is a file such as /proc/PID/ns/net. In each network namespace, fabric creates the TUN
 * device DEVICE with the link type InfiniBand, down and without an address, or reuses the one
 * that an earlier fabric left there. Then it prints its process id and forwards packets in the
 * background: each to the device that has the destination address, IPv4 or IPv6, at that time.
 * A packet is dropped silently when no device with that address is up and has carrier, or when
 * it is multicast.
 *
 * In a namespace, `ip link set DEVICE carrier off` pulls the cable, `carrier on` plugs it in
 * again, and `ip link del DEVICE` removes the device. When fabric ends, every device loses its
 * carrier; the devices stay, with their addresses.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define AT_ONCE 64              /* packets of one node before the next node's turn */

struct node {
    int ns;
    int device;
    int changes;                /* an rtnetlink socket that reports changes of addresses */
    struct in6_addr *addresses; /* its current addresses, IPv4 as ::ffff:a.b.c.d */
    size_t count;
};

static struct node *nodes;
static size_t node_count;
static int poller;

/* ---- the nodes' addresses ---- */

static struct in6_addr _mapped (const void *ipv4)
{
    struct in6_addr address = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

    memcpy (&address.s6_addr[12], ipv4, 4);
    return address;
}

static void _add_address (struct node *node, const struct sockaddr *sa)
{
    struct in6_addr address;

    if (sa->sa_family == AF_INET)
        address = _mapped (&((const struct sockaddr_in *)sa)->sin_addr);
    else if (sa->sa_family == AF_INET6)
        address = ((const struct sockaddr_in6 *)sa)->sin6_addr;
    else
        return;
    node->addresses = reallocarray (node->addresses, node->count + 1, sizeof (address));
    if (!node->addresses)
        err (1, "addresses");
    node->addresses[node->count++] = address;
}

/* An address may have a label of its own, "ib0:1". */
static bool _belongs_to (const struct ifaddrs *ifa, const char *name)
{
    size_t length = strcspn (ifa->ifa_name, ":");

    return strlen (name) == length && !memcmp (ifa->ifa_name, name, length);
}

static void _read_addresses (struct node *node)
{
    const unsigned int ready = IFF_UP | IFF_RUNNING;
    struct ifreq device;
    struct ifaddrs *all;

    node->count = 0;
    if (ioctl (node->device, TUNGETIFF, &device) < 0)
        return;
    if (setns (node->ns, CLONE_NEWNET) < 0 || getifaddrs (&all) < 0)
        err (1, "addresses of %s", device.ifr_name);
    for (const struct ifaddrs *ifa = all; ifa; ifa = ifa->ifa_next)
        if (ifa->ifa_addr && (ifa->ifa_flags & ready) == ready && _belongs_to (ifa, device.ifr_name))
            _add_address (node, ifa->ifa_addr);
    freeifaddrs (all);
}

static const struct node *_node_of (const struct in6_addr *address)
{
    for (const struct node *node = nodes; node < nodes + node_count; node++)
        for (size_t i = 0; i < node->count; i++)
            if (IN6_ARE_ADDR_EQUAL (&node->addresses[i], address))
                return node;
    return NULL;
}

/* ---- the start ---- */

static void _watch (int fd, size_t what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = what };

    if (epoll_ctl (poller, EPOLL_CTL_ADD, fd, &event) < 0)
        err (1, "epoll");
}

/* Creates it in the current network namespace, as _open_rtnetlink does with its socket. */
static void _make_device (struct node *node, const char *name)
{
    struct ifreq device = { .ifr_flags = IFF_TUN | IFF_NO_PI };

    strncpy (device.ifr_name, name, IFNAMSIZ - 1);
    node->device = open ("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (node->device < 0)
        err (1, "/dev/net/tun");
    if (ioctl (node->device, TUNSETIFF, &device) < 0)
        err (1, "%s", name);
    /* EBUSY: the device is up, and has its type from an earlier fabric. */
    if (ioctl (node->device, TUNSETLINK, ARPHRD_INFINIBAND) < 0 && errno != EBUSY)
        err (1, "%s: link type InfiniBand", name);
    if (ioctl (node->device, TUNSETPERSIST, 1) < 0)
        err (1, "%s", name);
}

static void _open_rtnetlink (struct node *node)
{
    struct sockaddr_nl groups = { .nl_family = AF_NETLINK,
                                  .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };

    node->changes = socket (AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (node->changes < 0 || bind (node->changes, (struct sockaddr *)&groups, sizeof (groups)) < 0)
        err (1, "rtnetlink");
}

static void _open_node (struct node *node, const char *name, const char *ns)
{
    node->ns = open (ns, O_RDONLY | O_CLOEXEC);
    if (node->ns < 0 || setns (node->ns, CLONE_NEWNET) < 0)
        err (1, "%s", ns);
    _make_device (node, name);
    _open_rtnetlink (node);
    _read_addresses (node);
}

/* The parent prints the process id and exits; stderr stays open for errors. */
static void _daemonize (void)
{
    int null = open ("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid = fork ();

    if (null < 0 || pid < 0)
        err (1, "daemonize");
    if (pid > 0) {
        printf ("%d\n", (int)pid);
        exit (fflush (stdout) ? 1 : 0);
    }
    setsid ();
    dup2 (null, STDIN_FILENO);
    dup2 (null, STDOUT_FILENO);
    close (null);
}

/* ---- forwarding ---- */

static bool _destination (const unsigned char *packet, ssize_t length, struct in6_addr *to)
{
    if (length >= (ssize_t)sizeof (struct ip) && packet[0] >> 4 == 4)
        *to = _mapped (packet + offsetof (struct ip, ip_dst));
    else if (length >= (ssize_t)sizeof (struct ip6_hdr) && packet[0] >> 4 == 6)
        memcpy (to, packet + offsetof (struct ip6_hdr, ip6_dst), sizeof (*to));
    else
        return false;
    return true;
}

static void _relay (const struct node *from)
{
    static unsigned char packet[1 << 16];

    for (int i = 0; i < AT_ONCE; i++) {
        ssize_t length = read (from->device, packet, sizeof (packet));
        struct in6_addr to;
        const struct node *owner;

        if (length < 0) {
            /* The device was deleted; epoll would report it for ever. */
            if (errno == EBADFD)
                epoll_ctl (poller, EPOLL_CTL_DEL, from->device, NULL);
            return;
        }
        owner = _destination (packet, length, &to) ? _node_of (&to) : NULL;
        /* A packet that cannot be written is dropped, as on a wire. */
        if (owner)
            (void)!write (owner->device, packet, (size_t)length);
    }
}

/* Read all messages and ignore them: the addresses are read anew, so a lost one does no harm. */
static void _handle_changes (struct node *node)
{
    char message[1 << 15];

    while (recv (node->changes, message, sizeof (message), 0) >= 0 || errno == ENOBUFS)
        ;
    _read_addresses (node);
}

int main (int argc, char *argv[])
{
    struct epoll_event events[64];

    if (argc < 3 || strlen (argv[1]) >= IFNAMSIZ) {
        fprintf (stderr, "usage: fabric DEVICE NAMESPACE...\n");
        return 2;
    }
    node_count = (size_t)argc - 2;
    nodes = calloc (node_count, sizeof (*nodes));
    poller = epoll_create1 (EPOLL_CLOEXEC);
    if (!nodes || poller < 0)
        err (1, "epoll");
    for (size_t i = 0; i < node_count; i++) {
        _open_node (&nodes[i], argv[1], argv[i + 2]);
        _watch (nodes[i].device, 2 * i);
        _watch (nodes[i].changes, 2 * i + 1);
    }
    _daemonize ();
    while (true) {
        int ready = epoll_wait (poller, events, sizeof (events) / sizeof (events[0]), -1);

        for (int i = 0; i < ready; i++) {
            struct node *node = &nodes[events[i].data.u64 / 2];

            if (events[i].data.u64 % 2)
                _handle_changes (node);
            else
                _relay (node);
        }
    }
}
