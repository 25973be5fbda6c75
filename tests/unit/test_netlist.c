/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>

#include "addresses/interface.h"

/* Each item as it was parsed, as in "10.1.0.0/16 ib0 ". */
static const char *understood (const struct netlist *list)
{
    static char text[1024];

    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        const struct netlist_item *item = &list->item[i];
        struct subnet_text room;

        strcat (strcat (text, item->is_network ? subnet_print (&item->network, &room) : item->text), " ");
    }
    return text;
}

TEST (networks_and_interfaces_are_parsed_in_order)
{
    static const struct {
        const char *text, *items;
    } row[] = {
        { "ib0", "ib0 " },
        { "10.1.0.0/16", "10.1.0.0/16 " },
        { "10.1.2.3/16", "10.1.0.0/16 " },
        { "10.1.0.0/16,fd00::/64,ib0", "10.1.0.0/16 fd00::/64 ib0 " },
        { "ib0,10.1.0.0/16", "ib0 10.1.0.0/16 " },
        { "ib0,ib0", "ib0 ib0 " },
        { "0.0.0.0/0", "0.0.0.0/0 " },
        { "FD00:1:2:3:4:5:6:7/48", "fd00:1:2::/48 " },
        { "ib0.8001,bond-0,enp1s0f0np0", "ib0.8001 bond-0 enp1s0f0np0 " },
        { "10,~x,a\"b", "10 ~x a\"b " },                   /* the kernel allows these names */
        { "fifteen_letters", "fifteen_letters " },
        { "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 " },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct netlist list;
        struct errtext err = { "" };

        if (netlist_parse (&list, row[i].text, &err) < 0)
            fail_msg ("%s: %s", row[i].text, err.text);
        assert_string_equal (understood (&list), row[i].items);
    }
}

#define MISSING \
    "a network is missing; a network is CIDR, as in 10.1.0.0/16, or the name of an " \
    "interface"
#define NEITHER(text) \
    "\"" text "\" is neither a network, as in 10.1.0.0/16, nor the name of an " \
    "interface"
#define BARE(text) "\"" text "\" is an address; a network has a prefix length, as in 10.1.0.0/16"

TEST (text_that_is_not_a_network_is_refused_and_named)
{
    static const struct {
        const char *text, *message;
    /* clang-format off */
    } row[] = {
        { "", MISSING }, { ",", MISSING }, { "ib0,", MISSING }, { ",ib0", MISSING },
        { "ib0,,ib1", MISSING },
        { "10.1.0.1", BARE ("10.1.0.1") }, { "ib0,fd00::1", BARE ("fd00::1") },
        { "10.1.0.0/33", NEITHER ("10.1.0.0/33") }, { "10.1.0.0/", NEITHER ("10.1.0.0/") },
        { "10.1.0.0/255.255.0.0", NEITHER ("10.1.0.0/255.255.0.0") },
        { "fd00::/129", NEITHER ("fd00::/129") }, { "/16", NEITHER ("/16") },
        { "fd00:", NEITHER ("fd00:") }, { "ib0:1", NEITHER ("ib0:1") },
        { "ib/0", NEITHER ("ib/0") },
        { "ib0, ib1", NEITHER (" ib1") }, { "ib0 ", NEITHER ("ib0 ") },
        { "ib0\n", NEITHER ("ib0\\x0a") }, { "\033[31mib0", NEITHER ("\\x1b[31mib0") },
        { "\xc3\xa9th0", NEITHER ("\\xc3\\xa9th0") }, { "ib\x7f", NEITHER ("ib\\x7f") },
        { "sixteen_letters_", NEITHER ("sixteen_letters_") },
        { "10.98.0", NEITHER ("10.98.0") },
        { "300.1.1.1", NEITHER ("300.1.1.1") },
        { "ib0,any", NEITHER ("any") },
        { "a-text-that-is-longer-than-any-network-and-any-interface-of-any-node",
          NEITHER ("a-text-that-is-longer-than-any-network-and-any-interface-of-any-node") },
        { "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "more than 16 networks" },
        { "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,", "more than 16 networks" },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct netlist list;
        struct errtext err = { "" };

        assert_int_equal (netlist_parse (&list, row[i].text, &err), -1);
        assert_string_equal (err.text, row[i].message);
    }
}

static bool matches (const char *item, const char *interface)
{
    struct netlist list;
    struct interface one;

    assert_int_equal (netlist_parse (&list, item, NULL), 0);
    assert_int_equal (interface_parse (&one, interface), 0);
    return interface_is_named (&one, &list.item[0]);
}

TEST (an_item_matches_a_name_or_an_address)
{
    static const struct {
        const char *item, *interface;
        bool matches;
    } row[] = {
        { "ib0", "ib0 infiniband up 10.1.0.5/16", true },
        { "ib0", "ib0 infiniband down -", true },
        { "ib0", "ib0 other no-carrier fd00::5/64", true },
        { "ib", "ib0 infiniband up 10.1.0.5/16", false },
        { "ib00", "ib0 infiniband up 10.1.0.5/16", false },
        { "IB0", "ib0 infiniband up 10.1.0.5/16", false },
        { "10.1.0.0/16", "ib0 infiniband up 10.1.0.5/16", true },
        { "10.1.0.0/16", "eth0 other down 10.1.255.5/24", true },
        { "10.1.0.0/16", "ib0 infiniband up 10.2.0.5/16", false },
        { "10.1.0.0/24", "ib0 infiniband up 10.1.1.5/8", false },    /* not the interface's /8 */
        { "10.1.0.0/16", "ib0 infiniband up -", false },
        { "0.0.0.0/0", "ib0 infiniband up -", false },
        { "::/0", "ib0 infiniband up -", false },
        { "0.0.0.0/0", "ib0 infiniband up fd00::5/64", false },
        { "fd00::/64", "ib0 infiniband up fd00::5/64", true },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        if (matches (row[i].item, row[i].interface) != row[i].matches)
            fail_msg ("%s, %s", row[i].item, row[i].interface);
}
