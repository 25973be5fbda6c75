/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a list of networks, as in --tf-network; a second line is an address with a prefix, as text and
 * as bytes.
 */
#include "config.h"

#include "fuzz.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "network/selection.h"

/* A network has no host bits, and has its own address. */
static void _check_network (const struct subnet *network)
{
    struct subnet masked = subnet_network (network), again;
    struct subnet_text room;

    CHECK (network->prefix >= 0 && network->prefix <= (network->address.family == AF_INET ? 32 : 128));
    CHECK (subnet_compare (network, &masked) == 0);
    CHECK (subnet_has (network, &network->address));
    CHECK (subnet_parse (&again, subnet_print (network, &room)) == 0);
    CHECK (subnet_compare (network, &again) == 0);
}

/* What is printed is parsed as the same address and prefix. */
static void _check_subnet (const struct subnet *subnet)
{
    struct subnet again;
    struct subnet_text room;

    CHECK (subnet->prefix >= 0 && subnet->prefix <= (subnet->address.family == AF_INET ? 32 : 128));
    CHECK (subnet_parse (&again, subnet_print (subnet, &room)) == 0);
    CHECK (subnet_compare (subnet, &again) == 0 && subnet_has (&again, &subnet->address));
}

static void _check_sockaddr (const void *from, int prefix)
{
    struct subnet subnet;

    CHECK (address_of_sockaddr (&subnet.address, from) == 0);
    subnet.prefix = prefix % (subnet.address.family == AF_INET ? 33 : 129);
    _check_subnet (&subnet);
}

/* The bytes are an address of either family and a prefix. */
static void _check_bytes (const uint8_t *bytes, size_t size)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

    if (size > sizeof (in.sin_addr)) {
        memcpy (&in.sin_addr, bytes, sizeof (in.sin_addr));
        _check_sockaddr (&in, bytes[sizeof (in.sin_addr)]);
    }
    if (size > sizeof (in6.sin6_addr)) {
        memcpy (&in6.sin6_addr, bytes, sizeof (in6.sin6_addr));
        _check_sockaddr (&in6, bytes[sizeof (in6.sin6_addr)]);
    }
}

static void _check_item (const struct netlist_item *item, const struct interface *interface)
{
    const struct preference preference = { .item = item };
    struct interface same = *interface;

    CHECK (fuzz_is_line (item->text));
    if (item->is_network) {
        _check_network (&item->network);
        same.address = item->network;
    } else {
        CHECK (netlist_is_interface (item->text));
        strcpy (same.name, item->text);
    }
    CHECK (preference_allows (&preference, &same));
    preference_allows (&preference, interface);
}

FUZZ_TARGET (netlist)
{
    char *text = fuzz_text (data, size), *rest = text, *line = fuzz_line (&rest);
    struct interface interface = { .name = "eth0" };
    struct netlist list;
    struct errtext err;

    if (subnet_parse (&interface.address, fuzz_line (&rest)) == 0)
        _check_subnet (&interface.address);
    else
        interface.address = (struct subnet){ 0 };
    _check_bytes (data, size);
    if (fuzz_succeeded (netlist_parse (&list, line, &err), &err)) {
        CHECK (list.count >= 1 && list.count <= NETLIST_MAX);
        for (size_t i = 0; i < list.count; i++)
            _check_item (&list.item[i], &interface);
    }
    free (text);
}
