/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a list of networks, as in --tf-network; a second line is an address with a prefix.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "addresses/netlist.h"

/* A network has no host bits, and has its own address. */
static void _check_network (const struct subnet *network)
{
    struct subnet masked = subnet_network (network), again;
    struct subnet_text room;

    CHECK (network->prefix >= 0
           && network->prefix <= (network->address.family == AF_INET ? 32 : 128));
    CHECK (subnet_compare (network, &masked) == 0);
    CHECK (subnet_has (network, &network->address));
    CHECK (subnet_parse (&again, subnet_print (network, &room)) == 0);
    CHECK (subnet_compare (network, &again) == 0);
}

static void _check_item (const struct netlist_item *item, const struct interface *interface)
{
    struct interface same = *interface;

    if (item->is_network) {
        _check_network (&item->network);
        same.address = item->network;
    } else {
        CHECK (interface_is_name (item->text));
        strcpy (same.name, item->text);
    }
    CHECK (netlist_matches (item, &same));
    netlist_matches (item, interface);
}

FUZZ_TARGET (netlist)
{
    char *text = fuzz_text (data, size), *rest = text, *line = fuzz_line (&rest);
    struct interface interface = { .name = "eth0" };
    struct netlist list;
    struct errtext err;

    if (subnet_parse (&interface.address, fuzz_line (&rest)) < 0)
        interface.address = (struct subnet){ 0 };
    if (fuzz_succeeded (netlist_parse (&list, line, &err), &err)) {
        CHECK (list.count >= 1 && list.count <= NETLIST_MAX);
        for (size_t i = 0; i < list.count; i++)
            _check_item (&list.item[i], &interface);
    }
    free (text);
}
