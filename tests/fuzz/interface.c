/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is an interface as a registration describes it, and is tried as an address too.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "addresses/cpus.h"
#include "addresses/interface.h"
#include "common/netlist.h"

static void _check_address (const char *text)
{
    struct address address, again;
    struct address_text room;
    struct sockaddr_storage ss;

    if (address_parse (&address, text) < 0)
        return;
    CHECK (address_parse (&again, address_print (&address, &room)) == 0);
    CHECK (address_equal (&address, &again));
    address_sockaddr (&address, 65535, &ss);
    CHECK (address_of_sockaddr (&again, (struct sockaddr *)&ss) == 0);
    CHECK (address_equal (&address, &again));
    CHECK (strcmp (strrchr (address_print_port (&address, 65535, &room), ':'), ":65535") == 0);
    CHECK (!address_is_loopback (&address) || !address_is_link_local (&address));
}

static void _check_cpus (const char *text)
{
    char room[CPUS_MAX_TEXT];
    struct cpus cpus, again;

    if (cpus_parse (&cpus, text) < 0)
        return;
    CHECK (cpus_parse (&again, cpus_print (&cpus, room)) == 0);
    CHECK (memcmp (&cpus, &again, sizeof (cpus)) == 0);
}

static void _check_interface (const struct interface *interface, const char *text)
{
    struct interface_text room;
    struct interface again;
    const char *printed = interface_print (interface, &room);

    CHECK (netlist_is_interface (interface->name));
    CHECK (strncmp (printed, text, strlen (printed)) == 0);
    CHECK (interface_parse (&again, printed) == 0);
    CHECK (strcmp (again.name, interface->name) == 0 && again.state == interface->state);
    CHECK (again.infiniband == interface->infiniband && !again.local_cpus);
    CHECK (subnet_compare (&again.address, &interface->address) == 0);
    if (interface->local_cpus) {
        CHECK (interface->local_cpus == text + strlen (printed) + 1);
        _check_cpus (interface->local_cpus);
    } else
        CHECK (strlen (printed) == strlen (text));
}

FUZZ_TARGET (interface)
{
    char *text = fuzz_text (data, size);
    struct interface interface;

    _check_address (text);
    if (interface_parse (&interface, text) == 0)
        _check_interface (&interface, text);
    free (text);
}
