/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "interface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/netlist.h"

static const char *const state_name[] = {
    [INTERFACE_UP] = "up",
    [INTERFACE_NO_CARRIER] = "no-carrier",
    [INTERFACE_DOWN] = "down",
};

#define STATES ((int)(sizeof (state_name) / sizeof (state_name[0])))

static enum interface_state _state (unsigned int flags)
{
    if (!(flags & IFF_UP))
        return INTERFACE_DOWN;
    return flags & IFF_RUNNING ? INTERFACE_UP : INTERFACE_NO_CARRIER;
}

/*
 * getifaddrs () reports the link type too, but not of an interface whose driver gives it no
 * hardware address.
 */
static bool _is_infiniband (int fd, const char *name)
{
    struct ifreq request;

    memset (&request, 0, sizeof (request));
    snprintf (request.ifr_name, sizeof (request.ifr_name), "%s", name);
    return ioctl (fd, SIOCGIFHWADDR, &request) == 0 && request.ifr_hwaddr.sa_family == ARPHRD_INFINIBAND;
}

static int _prefix (const struct address *mask)
{
    int bits = 0;

    while (bits < 128 && mask->bytes[bits / 8] & (0x80 >> bits % 8))
        bits++;
    return bits;
}

/* False if the entry has no address to which other nodes can connect. */
static bool _take_address (struct subnet *subnet, const struct ifaddrs *entry)
{
    struct address mask;

    memset (subnet, 0, sizeof (*subnet));
    if (address_of_sockaddr (&subnet->address, entry->ifa_addr) < 0)
        return false;
    if (!entry->ifa_netmask || address_of_sockaddr (&mask, entry->ifa_netmask) < 0
        || mask.family != subnet->address.family)   /* ::ffff:a.b.c.d has an IPv6 mask */
        return false;
    subnet->prefix = _prefix (&mask);
    return !address_is_loopback (&subnet->address) && !address_is_link_local (&subnet->address);
}

/* "eth0:1" is the label of an additional address of eth0. */
static void _name_without_label (char name[IF_NAMESIZE], const char *label)
{
    snprintf (name, IF_NAMESIZE, "%.*s", (int)strcspn (label, ":"), label);
}

static bool _is_listed (const struct interface *list, int count, const char *name)
{
    while (count-- > 0)
        if (strcmp (list[count].name, name) == 0)
            return true;
    return false;
}

/* Add the entries that are InfiniBand or not, and that have an address or not. */
static int _add_entries (struct interface *list, int count, const struct ifaddrs *entries, int fd,
                         bool infiniband, bool addressed)
{
    for (const struct ifaddrs *e = entries; e && count < INTERFACE_MAX; e = e->ifa_next) {
        struct interface one = { .state = _state (e->ifa_flags), .infiniband = infiniband };

        _name_without_label (one.name, e->ifa_name);
        if (e->ifa_flags & IFF_LOOPBACK || !netlist_is_interface (one.name)
            || _is_infiniband (fd, one.name) != infiniband || _take_address (&one.address, e) != addressed
            || (!addressed && _is_listed (list, count, one.name)))
            continue;
        if (!addressed)
            memset (&one.address, 0, sizeof (one.address));
        list[count++] = one;
    }
    return count;
}

int interface_list (struct interface list[INTERFACE_MAX], struct errtext *err)
{
    int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifaddrs *entries;
    int count = 0;

    if (fd < 0)     /* a kernel without IPv4 */
        fd = socket (AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errtext_set (err, "cannot list network interfaces: %s", strerror (errno));
    if (getifaddrs (&entries) < 0) {
        errtext_set (err, "cannot list network interfaces: %s", strerror (errno));
        close (fd);
        return -1;
    }
    count = _add_entries (list, count, entries, fd, true, true);
    count = _add_entries (list, count, entries, fd, true, false);
    count = _add_entries (list, count, entries, fd, false, true);
    count = _add_entries (list, count, entries, fd, false, false);
    freeifaddrs (entries);
    close (fd);
    return count;
}

/* How well an entry fits the address; 0: it does not. Libraries take a loopback interface for 127.0.0.1. */
static int _fit (const struct ifaddrs *entry, const struct address *address)
{
    bool loopback = entry->ifa_flags & IFF_LOOPBACK;
    struct address own;

    if (loopback != address_is_loopback (address) || address_of_sockaddr (&own, entry->ifa_addr) < 0)
        return 0;
    if (address_equal (&own, address))
        return _state (entry->ifa_flags) == INTERFACE_UP ? 3 : 2;
    return loopback ? 1 : 0;
}

int interface_with_address (char name[IF_NAMESIZE], const struct address *address)
{
    struct ifaddrs *entries;
    int best = 0;

    if (getifaddrs (&entries) < 0)
        return -1;
    for (const struct ifaddrs *e = entries; e; e = e->ifa_next) {
        char own[IF_NAMESIZE];
        int fit = _fit (e, address);

        _name_without_label (own, e->ifa_name);
        if (fit > best && netlist_is_interface (own)) {
            memcpy (name, own, sizeof (own));
            best = fit;
        }
    }
    freeifaddrs (entries);
    return best > 0 ? 0 : -1;
}

const char *interface_fault (const struct interface *interface)
{
    switch (interface->state) {
        case INTERFACE_DOWN: return "is down";
        case INTERFACE_NO_CARRIER: return "has no carrier";
        case INTERFACE_UP: break;
    }
    return interface->address.address.family ? NULL : "has no address";
}

bool interface_is_candidate (const struct interface *interface)
{
    return !interface_fault (interface);
}

const char *interface_print (const struct interface *interface, struct interface_text *room)
{
    struct subnet_text address = { "-" };

    if (interface->address.address.family)
        subnet_print (&interface->address, &address);
    snprintf (room->text, sizeof (room->text), "%s %s %s %s", interface->name,
              interface->infiniband ? "infiniband" : "other", state_name[interface->state], address.text);
    return room->text;
}

int interface_parse (struct interface *interface, const char *text)
{
    char link[16], state[16], address[sizeof (struct subnet_text)];
    struct interface_text printed;
    size_t length;
    int i;

    memset (interface, 0, sizeof (*interface));
    if (sscanf (text, "%15s %15s %15s %50s", interface->name, link, state, address) != 4
        || !netlist_is_interface (interface->name))
        return -1;
    interface->infiniband = strcmp (link, "infiniband") == 0;
    for (i = 0; i < STATES && strcmp (state, state_name[i]) != 0; i++)
        ;
    if (i == STATES || (strcmp (address, "-") != 0 && subnet_parse (&interface->address, address) < 0))
        return -1;
    interface->state = (enum interface_state)i;
    /* The text must be what interface_print () prints: sscanf () is more tolerant. */
    length = strlen (interface_print (interface, &printed));
    if (strncmp (text, printed.text, length) != 0 || (text[length] && text[length] != ' '))
        return -1;
    if (text[length] == ' ')
        interface->local_cpus = text + length + 1;
    return 0;
}
