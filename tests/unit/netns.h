/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A private network namespace for a test that runs as root, and devices in it. The namespace ends
 * with the process, or when the process enters the next one.
 */
#ifndef TF_NETNS_H
#define TF_NETNS_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Enter a new network namespace. It contains only a loopback device, which is down. */
static inline void netns_enter (void)
{
    if (unshare (CLONE_NEWNET) < 0)
        SKIP ("only root may create a network namespace");
    if (system ("ip -V >/dev/null") != 0)
        SKIP ("the program ip (iproute2) is not installed");
}

/* Run `ip` with these arguments by a shell. Returns true if it succeeded. */
static inline bool __attribute__ ((format (printf, 1, 2))) netns_ip (const char *fmt, ...)
{
    char command[512] = "ip ";
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (command + 3, sizeof (command) - 3, fmt, ap);
    va_end (ap);
    return system (command) == 0;
}

/*
 * Before all tests: enter a new network namespace whose loopback device is up, so that no other program
 * of this machine takes a port that a test has just released. Ordinary users stay where they are.
 */
static inline void netns_isolate (void)
{
    if (unshare (CLONE_NEWNET) == 0 && !netns_ip ("link set lo up"))
        exit (EXIT_FAILURE);
}

/*
 * Create a TUN device, down and without an address, whose link type is InfiniBand or Ethernet. It
 * has carrier until `ip link set NAME carrier off`. It exists until the returned descriptor is
 * closed.
 */
static inline int netns_device (const char *name, bool infiniband)
{
    struct ifreq device = { .ifr_flags = (infiniband ? IFF_TUN : IFF_TAP) | IFF_NO_PI };
    int fd = open ("/dev/net/tun", O_RDWR | O_CLOEXEC);

    if (fd < 0)
        SKIP ("this machine has no TUN devices");
    snprintf (device.ifr_name, IFNAMSIZ, "%s", name);
    assert_int_equal (ioctl (fd, TUNSETIFF, &device), 0);
    if (infiniband)
        assert_int_equal (ioctl (fd, TUNSETLINK, ARPHRD_INFINIBAND), 0);
    return fd;
}

#endif
