/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "sockets.h"

#include <arpa/inet.h>

TEST (an_ipv4_mapped_address_equals_the_ipv4_address)
{
    struct address v4, mapped, other, v6;

    address_parse (&v4, "10.0.0.1");
    address_parse (&mapped, "::ffff:10.0.0.1");
    address_parse (&other, "10.0.0.2");
    address_parse (&v6, "a00:1::");     /* the same first bytes */
    assert_true (address_equal (&v4, &mapped));
    assert_false (address_equal (&v4, &other));
    assert_false (address_equal (&v4, &v6));
    assert_true (address_equal (&v6, &v6));
}

TEST (address_local_reads_a_sockets_address)
{
    static const char *const row[] = { "127.0.0.1", "127.0.1.1", "::1" };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct address address, local;
        int port = 0, fd = bound_socket (row[i], &port);

        if (fd < 0)
            SKIP ("this machine has no IPv6 loopback");
        assert_int_equal (address_parse (&address, row[i]), 0);
        assert_int_equal (address_local (&local, fd), 0);
        assert_true (address_equal (&local, &address));
        close (fd);
    }
}

TEST (a_dual_stack_socket_has_the_ipv4_address)
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
    struct address address;
    struct address_text room;
    int fd = socket (AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;

    if (fd < 0)
        SKIP ("this machine has no IPv6");
    setsockopt (fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof (off));
    inet_pton (AF_INET6, "::ffff:127.0.0.1", &in6.sin6_addr);
    assert_int_equal (bind (fd, (struct sockaddr *)&in6, sizeof (in6)), 0);
    assert_int_equal (address_local (&address, fd), 0);
    assert_string_equal (address_print (&address, &room), "127.0.0.1");
    close (fd);
}

/* getifaddrs () also returns entries of other families, and entries without an address. */
TEST (a_sockaddr_of_another_family_is_not_an_address)
{
    static const sa_family_t row[] = { AF_UNSPEC, AF_UNIX, AF_PACKET, AF_NETLINK };
    struct sockaddr_storage ss;
    struct address address;

    for (size_t i = 0; i < COUNT (row); i++) {
        memset (&ss, 0x7f, sizeof (ss));
        ss.ss_family = row[i];
        address_parse (&address, "10.0.0.1");
        assert_int_equal (address_of_sockaddr (&address, (struct sockaddr *)&ss), -1);
        assert_int_equal (address.family, 0);
    }
    address_parse (&address, "10.0.0.1");
    assert_int_equal (address_of_sockaddr (&address, NULL), -1);
    assert_int_equal (address.family, 0);
}

TEST (a_sockaddr_has_address_and_port)
{
    struct sockaddr_storage ss;
    struct address address;

    address_parse (&address, "10.1.2.3");
    assert_int_equal (address_sockaddr (&address, 65535, &ss), sizeof (struct sockaddr_in));
    assert_int_equal (ss.ss_family, AF_INET);
    assert_int_equal (ntohs (((struct sockaddr_in *)&ss)->sin_port), 65535);
    assert_int_equal (ntohl (((struct sockaddr_in *)&ss)->sin_addr.s_addr), 0x0a010203);
    address_parse (&address, "fd00::1");
    assert_int_equal (address_sockaddr (&address, 1024, &ss), sizeof (struct sockaddr_in6));
    assert_int_equal (ss.ss_family, AF_INET6);
    assert_int_equal (ntohs (((struct sockaddr_in6 *)&ss)->sin6_port), 1024);
    assert_memory_equal (&((struct sockaddr_in6 *)&ss)->sin6_addr, address.bytes, 16);
}
