/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <sys/socket.h>

#include "common/subnet.h"

static struct subnet subnet (const char *text)
{
    struct subnet subnet;

    if (subnet_parse (&subnet, text) < 0)
        fail_msg ("%s was not accepted as a subnet", text);
    return subnet;
}

static struct address address (const char *text)
{
    struct address address;

    assert_int_equal (address_parse (&address, text), 0);
    return address;
}

static bool has (const char *network, const char *text)
{
    struct subnet of = subnet (network);
    struct address one = address (text);

    return subnet_has (&of, &one);
}

TEST (an_address_with_a_prefix_has_a_network)
{
    static const struct {
        const char *text, *printed, *network;
        int family, prefix;
    } row[] = {
        { "10.1.2.3/16", "10.1.2.3/16", "10.1.0.0/16", AF_INET, 16 },
        { "10.1.0.0/16", "10.1.0.0/16", "10.1.0.0/16", AF_INET, 16 },
        { "10.255.255.255/9", "10.255.255.255/9", "10.128.0.0/9", AF_INET, 9 },
        { "192.168.7.201/27", "192.168.7.201/27", "192.168.7.192/27", AF_INET, 27 },
        { "255.255.255.255/0", "255.255.255.255/0", "0.0.0.0/0", AF_INET, 0 },
        { "255.255.255.255/1", "255.255.255.255/1", "128.0.0.0/1", AF_INET, 1 },
        { "255.255.255.255/31", "255.255.255.255/31", "255.255.255.254/31", AF_INET, 31 },
        { "255.255.255.255/32", "255.255.255.255/32", "255.255.255.255/32", AF_INET, 32 },
        { "10.1.2.3/08", "10.1.2.3/8", "10.0.0.0/8", AF_INET, 8 },
        { "::ffff:10.1.2.3/16", "10.1.2.3/16", "10.1.0.0/16", AF_INET, 16 },
        { "fd00::1:2:3/64", "fd00::1:2:3/64", "fd00::/64", AF_INET6, 64 },
        { "FD00:0::5/8", "fd00::5/8", "fd00::/8", AF_INET6, 8 },
        { "ffff::1/0", "ffff::1/0", "::/0", AF_INET6, 0 },
        { "ffff::ffff/127", "ffff::ffff/127", "ffff::fffe/127", AF_INET6, 127 },
        { "ffff::ffff/128", "ffff::ffff/128", "ffff::ffff/128", AF_INET6, 128 },
        { "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/100", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/100",
          "ffff:ffff:ffff:ffff:ffff:ffff:f000:0/100", AF_INET6, 100 },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct subnet parsed = subnet (row[i].text), network = subnet_network (&parsed);
        struct subnet_text room;

        assert_int_equal (parsed.address.family, row[i].family);
        assert_int_equal (parsed.prefix, row[i].prefix);
        assert_string_equal (subnet_print (&parsed, &room), row[i].printed);
        assert_string_equal (subnet_print (&network, &room), row[i].network);
    }
}

TEST (text_that_is_not_a_subnet_is_refused)
{
    /* clang-format off */
    static const char *const row[] = {
        "", "/", "/16", "10.1.0.0", "10.1.0.0/", "10.1.0.0/33", "10.1.0.0/-1", "10.1.0.0/+8",
        "10.1.0.0/ 8", "10.1.0.0/8 ", "10.1.0.0/1+", "fd00::/8 ", " 10.1.0.0/8", "10.1.0.0 /8",
        "10.1.0.0/0x8", "10.1.0.0/a",
        "10.1.0.0/8/8", "10.1.0.0/255.255.0.0", "10.1.0.0/4294967304", "10.1/16",
        "10.1.0.256/16", "ib0/16", "ib0", "fd00::", "fd00::/129", "fd00::/999", "fd00::/-0",
        "[fd00::]/64", "fe80::1%eth0/64", "::ffff:10.0.0.1/96", "fd00::/64\n",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/64",
        "0000:0000:0000:0000:0000:ffff:255.255.255.2550/16",        /* truncated, a subnet */
    };
    /* clang-format on */
    struct subnet parsed;

    for (size_t i = 0; i < COUNT (row); i++)
        if (subnet_parse (&parsed, row[i]) != -1)
            fail_msg ("\"%s\" was accepted as a subnet", row[i]);
}

TEST (a_network_contains_the_addresses_with_its_prefix)
{
    static const struct {
        const char *network, *address;
        bool has;
    } row[] = {
        { "10.1.0.0/16", "10.1.0.0", true },
        { "10.1.0.0/16", "10.1.255.255", true },
        { "10.1.0.0/16", "10.0.255.255", false },
        { "10.1.0.0/16", "10.2.0.0", false },
        { "10.1.7.7/16", "10.1.9.9", true },        /* bits beyond the prefix do not matter */
        { "10.1.7.7/32", "10.1.7.7", true },
        { "10.1.7.7/32", "10.1.7.6", false },
        { "10.1.7.128/25", "10.1.7.127", false },
        { "0.0.0.0/0", "203.0.113.9", true },
        { "0.0.0.0/0", "fd00::1", false },
        { "::/0", "fd00::1", true },
        { "::/0", "10.0.0.1", false },
        { "fd00:1::/32", "fd00:1:ffff::1", true },
        { "fd00:1::/32", "fd00:2::1", false },
        { "fd00::1/128", "fd00::1", true },
        { "fd00::1/128", "fd00::2", false },
        { "fd00::/64", "10.0.0.1", false },
        { "10.0.0.0/8", "::ffff:10.9.9.9", true },
        { "a01::/16", "10.1.0.1", false },          /* the same first bytes */
        { "10.1.0.0/16", "a01::1", false },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        if (has (row[i].network, row[i].address) != row[i].has)
            fail_msg ("%s, %s", row[i].network, row[i].address);
}

TEST (networks_are_ordered)
{
    static const char *const ascending[] = {
        "0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/16", "10.0.0.1/8", "10.1.0.0/8", "255.0.0.0/8",
        "::/0",      "::1/0",      "fd00::/16",   "fd00::/64",  "fd00::1/64", "fe00::/8",
    };

    for (size_t i = 0; i < COUNT (ascending); i++)
        for (size_t j = 0; j < COUNT (ascending); j++) {
            struct subnet a = subnet (ascending[i]), b = subnet (ascending[j]);
            int order = subnet_compare (&a, &b);

            assert_int_equal ((order > 0) - (order < 0), (i > j) - (i < j));
        }
}
