/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "network.h"

#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addresses/own_name.h"
#include "common/netlist.h"
#include "network/choose.h"

/* InfiniBand. */

/* What to do if other nodes cannot connect to the interface. */
static const char *_advice (const struct interface *interface)
{
    switch (interface->state) {
        case INTERFACE_DOWN: return "set it up (ip link set up)";
        case INTERFACE_NO_CARRIER: return "look at its cable, switch and subnet manager";
        case INTERFACE_UP: break;
    }
    return "give it an IPv4 or IPv6 address";
}

static int _usable (const struct interface *list, int count)
{
    int usable = 0;

    for (int i = 0; i < count; i++)
        usable += list[i].infiniband && interface_is_candidate (&list[i]);
    return usable;
}

/* The value in force: that of the line, or the plugin's default. */
static const char *_argument (const struct installation *installation, enum option_id option)
{
    return installation->argument[option] ? installation->argument[option] : option_table[option].normal;
}

static int _wish_for_ib (const struct installation *installation)
{
    return option_word (OPTION_IB, _argument (installation, OPTION_IB), NULL);
}

/*
 * How bad is it that there is no InfiniBand? It is an error only where the site requires it; where
 * a host has another InfiniBand interface, a port without cable is usual.
 */
static enum level _level_without (const struct installation *installation, int usable)
{
    int ib = _wish_for_ib (installation);

    if (usable || ib == IB_NO)
        return LEVEL_OK;
    return ib == IB_REQUIRE ? LEVEL_ERROR : LEVEL_WARNING;
}

static void _check_infiniband (const struct interface *interface, enum level level, struct findings *findings)
{
    const char *why = interface_fault (interface);
    struct subnet_text room;

    if (!why)
        findings_ok (findings, "infiniband", "%s (InfiniBand, %s) would be used with --tf-ib",
                     interface->name, subnet_print (&interface->address, &room));
    else if (level == LEVEL_OK)
        findings_ok (findings, "infiniband", "%s (InfiniBand) would not be used: it %s", interface->name,
                     why);
    else
        findings_add (findings, "infiniband", level, _advice (interface),
                      "%s (InfiniBand) would not be used: it %s", interface->name, why);
}

static void _check_all_infiniband (const struct interface *list, int count,
                                   const struct installation *installation, struct findings *findings)
{
    enum level level = _level_without (installation, _usable (list, count));
    int found = 0;

    for (int i = 0; i < count; i++)
        if (list[i].infiniband) {
            _check_infiniband (&list[i], level, findings);
            found++;
        }
    if (!found && level == LEVEL_OK)
        findings_ok (findings, "infiniband", "this host has no InfiniBand interface");
    else if (!found)
        findings_add (findings, "infiniband", level,
                      "load the driver ib_ipoib, or set ib=no in plugstack.conf",
                      "this host has no InfiniBand interface, and plugstack.conf has ib=%s",
                      _argument (installation, OPTION_IB));
}

/* The address. */

/*
 * True if tf-rendezvous would choose an address by the site's wish in a step of hosts like this one: then it
 * is in *own. `infiniband`: the wish is InfiniBand.
 */
static bool _is_chosen (struct network_rank *own, const struct interface *list, int count,
                        const char *network, bool infiniband)
{
    static const struct host host = { "this" };
    struct network_wish wish = { .infiniband = infiniband };
    struct network_choice choice;

    *own =
        (struct network_rank){ .node = "this host", .host = &host, .interface = list, .interfaces = count };
    if (strcmp (network, NETLIST_ANY) != 0)
        netlist_parse (&wish.networks, network, NULL);
    return network_choose (own, 1, &host, &wish, &choice, NULL) == 0 && choice.wished;
}

static const struct interface *_with_address (const struct interface *list, int count,
                                              const struct address *address)
{
    for (int i = 0; i < count; i++)
        if (address_equal (&list[i].address.address, address))
            return &list[i];
    return NULL;
}

static void _found (const struct address *address, const char *interface, const char *why,
                    struct findings *findings)
{
    struct address_text room;

    findings_ok (findings, "address", "tasks on this host would be reached at %s (%s), %s",
                 address_print (address, &room), interface, why);
}

/* Without a preference, the address is that by which the node reaches srun. */
static void _check_default (const struct interface *list, int count, const struct address *own,
                            struct findings *findings)
{
    const struct interface *interface = own ? _with_address (list, count, own) : NULL;

    if (interface && interface_is_candidate (interface)) {
        _found (own, interface->name, "which faces slurmctld's host", findings);
        return;
    }
    /* On slurmctld's own host it may be loopback; the other nodes say which address they reach. */
    for (int i = 0; i < count; i++)
        if (interface_is_candidate (&list[i])) {
            _found (&list[i].address.address, list[i].name, "or another address by which it reaches srun",
                    findings);
            return;
        }
    findings_add (findings, "address", LEVEL_ERROR, "give an interface an address, and set it up",
                  "other nodes cannot reach this host: no interface is up and has an address that "
                  "is neither loopback nor link-local");
}

void network_check_interfaces (const struct interface *list, int count, const struct address *own,
                               const struct installation *installation, struct findings *findings)
{
    const char *network = _argument (installation, OPTION_NETWORK);
    bool wants = _wish_for_ib (installation) != IB_NO;
    struct network_rank chosen;

    _check_all_infiniband (list, count, installation, findings);
    if (_is_chosen (&chosen, list, count, network, wants && _usable (list, count))) {
        _found (&chosen.chosen, chosen.chosen_interface, "if all nodes of the step are on its network",
                findings);
        return;
    }
    if (strcmp (network, NETLIST_ANY) != 0)
        findings_add (findings, "address", LEVEL_WARNING, "correct network=, or the addresses of this host",
                      "this host is on none of network=%s, so steps with it use another network", network);
    _check_default (list, count, own, findings);
}

/*
 * The address from which this host would connect to `to`, or -1. To connect a UDP socket sends nothing; the
 * kernel looks for the route.
 */
static int _local_end (struct address *local, const struct address *to)
{
    struct sockaddr_storage ss;
    socklen_t length = address_sockaddr (to, 9, &ss);
    int fd = socket (ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = -1;

    if (fd >= 0 && connect (fd, (struct sockaddr *)&ss, length) == 0)
        rc = address_local (local, fd);
    if (fd >= 0)
        close (fd);
    return rc;
}

static int _resolve (struct address *address, const char *name)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found;
    int rc;

    if (getaddrinfo (name, NULL, &hints, &found) != 0)
        return -1;
    rc = address_of_sockaddr (address, found->ai_addr);
    freeaddrinfo (found);
    return rc;
}

/* The name in "NAME(ADDRESS)" is resolved if there is no address. */
static int _address_of (struct address *address, const char *controller)
{
    char name[256];

    if (strchr (controller, '('))
        controller = strchr (controller, '(') + 1;
    snprintf (name, sizeof (name), "%.*s", (int)strcspn (controller, ")"), controller);
    if (address_parse (address, name) == 0)
        return 0;
    /* A name server that is down must not keep a prolog waiting for long. */
    setenv ("RES_OPTIONS", "timeout:1 attempts:1", 0);
    return _resolve (address, name);
}

static void _check_own_name (struct findings *findings)
{
    struct address_text room;
    char text[OWN_NAME_TEXT];
    const char *fault = own_name_fault (&room);

    if (fault)
        findings_add (findings, "address", LEVEL_WARNING,
                      "add this host's address to its /etc/hosts, or to DNS",
                      "this host's own name %s: JAX on CPUs, torchrun, and PyTorch on Gloo without "
                      "--tf-frameworks=torch cannot connect to it",
                      own_name_explain (text, fault));
}

void network_check (const struct installation *installation, struct findings *findings)
{
    struct interface list[INTERFACE_MAX];
    struct address controller, own;
    struct errtext err;
    bool known;
    int count = interface_list (list, &err);

    if (count < 0) {
        findings_add (findings, "address", LEVEL_ERROR, "look at /sys/class/net", "%s", err.text);
        return;
    }
    known =
        _address_of (&controller, installation->conf.controller) == 0 && _local_end (&own, &controller) == 0;
    network_check_interfaces (list, count, known ? &own : NULL, installation, findings);
    _check_own_name (findings);
}
