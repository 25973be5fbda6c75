/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "netlist.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

bool netlist_is_interface (const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p <= ' ' || *p > '~' || *p == '/' || *p == ':')
            return false;
    return *text && strlen (text) < IF_NAMESIZE;
}

/* "10.98.0" was meant as an address, although it could be the name of an interface. */
static bool _looks_like_address (const char *text)
{
    return strchr (text, '.') && strspn (text, "0123456789.") == strlen (text);
}

static int _parse_network (struct netlist_item *item, const char *text, size_t len, struct errtext *err)
{
    struct address address;
    struct quoted q;

    if (len == 0)
        return errtext_set (err, "a network is missing; a network is CIDR, as in 10.1.0.0/16, or "
                                 "the name of an interface");
    if (len < sizeof (item->text)) {
        snprintf (item->text, sizeof (item->text), "%.*s", (int)len, text);
        if (subnet_parse (&item->network, item->text) == 0) {
            item->is_network = true;
            item->network = subnet_network (&item->network);
            return 0;
        }
        if (address_parse (&address, item->text) == 0)
            return errtext_set (err,
                                "\"%s\" is an address; a network has a prefix length, as in "
                                "10.1.0.0/16",
                                item->text);
        if (netlist_is_interface (item->text) && !_looks_like_address (item->text)
            && strcmp (item->text, NETLIST_ANY) != 0)
            return 0;
    }
    return errtext_set (err,
                        "\"%s\" is neither a network, as in 10.1.0.0/16, nor the name of an "
                        "interface",
                        text_quoted (&q, text, len));
}

int netlist_parse (struct netlist *list, const char *text, struct errtext *err)
{
    memset (list, 0, sizeof (*list));
    for (;; text++) {
        size_t len = strcspn (text, ",");

        if (list->count == NETLIST_MAX)
            return errtext_set (err, "more than %d networks", NETLIST_MAX);
        if (_parse_network (&list->item[list->count++], text, len, err) < 0)
            return -1;
        text += len;
        if (*text == '\0')
            return 0;
    }
}
