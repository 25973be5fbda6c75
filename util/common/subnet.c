/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "subnet.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

static int _width (const struct address *address)
{
    return address->family == AF_INET ? 32 : 128;
}

int subnet_parse (struct subnet *subnet, const char *text)
{
    const char *slash = strchr (text, '/');
    char address[INET6_ADDRSTRLEN];

    memset (subnet, 0, sizeof (*subnet));
    if (!slash || slash - text >= (int)sizeof (address))
        return -1;
    snprintf (address, sizeof (address), "%.*s", (int)(slash - text), text);
    if (address_parse (&subnet->address, address) < 0)
        return -1;
    return number_parse (&subnet->prefix, slash + 1, 0, _width (&subnet->address));
}

struct subnet subnet_network (const struct subnet *subnet)
{
    struct subnet network = *subnet;

    for (int bit = subnet->prefix; bit < _width (&subnet->address); bit++)
        network.address.bytes[bit / 8] &= (unsigned char)~(0x80 >> bit % 8);
    return network;
}

bool subnet_has (const struct subnet *network, const struct address *address)
{
    struct subnet of_address = { *address, network->prefix };
    struct subnet masked = subnet_network (network);

    if (address->family != network->address.family)
        return false;
    of_address = subnet_network (&of_address);
    return address_equal (&of_address.address, &masked.address);
}

int subnet_compare (const struct subnet *a, const struct subnet *b)
{
    int order;

    if (a->address.family != b->address.family)
        return a->address.family == AF_INET ? -1 : 1;
    order = memcmp (a->address.bytes, b->address.bytes, sizeof (a->address.bytes));
    return order ? order : a->prefix - b->prefix;
}

const char *subnet_print (const struct subnet *subnet, struct subnet_text *room)
{
    struct address_text address;

    snprintf (room->text, sizeof (room->text), "%s/%d", address_print (&subnet->address, &address),
              subnet->prefix);
    return room->text;
}
