/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "addresses/interface.h"
#include "netns.h"

/* Simulate a node without these address families: socket () fails for them. */
static bool no_ipv6, no_ipv4;

int __real_socket (int domain, int type, int protocol);
int __wrap_socket (int domain, int type, int protocol);

int __wrap_socket (int domain, int type, int protocol)
{
    if ((domain == AF_INET6 && no_ipv6) || (domain == AF_INET && no_ipv4)) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return __real_socket (domain, type, protocol);
}

/* Parsing and printing. */

TEST (a_printed_interface_is_parsed_as_the_same_interface)
{
    static const struct {
        const char *text, *name, *address;
        bool infiniband;
        enum interface_state state;
        bool candidate;
    } row[] = {
        { "ib0 infiniband up 10.1.0.5/16", "ib0", "10.1.0.5/16", true, INTERFACE_UP, true },
        { "ib0 infiniband up -", "ib0", NULL, true, INTERFACE_UP, false },
        { "eth1 other down -", "eth1", NULL, false, INTERFACE_DOWN, false },
        { "eth1 other down 10.1.0.5/16", "eth1", "10.1.0.5/16", false, INTERFACE_DOWN, false },
        { "ib1 infiniband no-carrier 10.2.0.5/32", "ib1", "10.2.0.5/32", true,
          INTERFACE_NO_CARRIER, false },
        { "enp1s0f0np0 other up fd00::5/64", "enp1s0f0np0", "fd00::5/64", false, INTERFACE_UP,
          true },
        { "fifteen_letters infiniband no-carrier ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
          "fifteen_letters", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", true,
          INTERFACE_NO_CARRIER, false },
        { "- other up 0.0.0.0/0", "-", "0.0.0.0/0", false, INTERFACE_UP, true },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct interface_text room;
        struct subnet_text address;
        struct interface interface;

        if (interface_parse (&interface, row[i].text) < 0)
            fail_msg ("%s was not accepted as an interface", row[i].text);
        assert_string_equal (interface.name, row[i].name);
        assert_int_equal (interface.infiniband, row[i].infiniband);
        assert_int_equal (interface.state, row[i].state);
        if (row[i].address)
            assert_string_equal (subnet_print (&interface.address, &address), row[i].address);
        else
            assert_int_equal (interface.address.address.family, 0);
        assert_null (interface.local_cpus);
        assert_int_equal (interface_is_candidate (&interface), row[i].candidate);
        assert_string_equal (interface_print (&interface, &room), row[i].text);
    }
}

TEST (local_cpus_follow_the_interface)
{
    static const char text[] = "ib0 infiniband up 10.1.0.5/16 0xff", none[] = "ib0 other down - ";
    struct interface_text room;
    struct interface interface;

    assert_int_equal (interface_parse (&interface, text), 0);
    assert_string_equal (interface.local_cpus, "0xff");
    assert_ptr_equal (interface.local_cpus, strstr (text, "0xff"));
    assert_string_equal (interface_print (&interface, &room), "ib0 infiniband up 10.1.0.5/16");
    assert_int_equal (interface_parse (&interface, none), 0);
    assert_string_equal (interface.local_cpus, "");
}

TEST (text_that_is_not_an_interface_is_refused)
{
    static const char *const row[] = {
        "", " ", "ib0", "ib0 infiniband", "ib0 infiniband up", "ib0 infiniband up ",
        "infiniband up 10.1.0.5/16", "ib0 up 10.1.0.5/16", "ib0 infiniband 10.1.0.5/16",
        /* wrong words */
        "ib0 ethernet up -", "ib0 INFINIBAND up -", "ib0 infinibandx up -", "ib0 infiniban up -",
        "ib0 other UP -", "ib0 other upp -", "ib0 other u -", "ib0 other 0 -",
        "ib0 other no_carrier -",
        /* the address or its prefix is missing or wrong */
        "ib0 other up --", "ib0 other up 10.1.0.5", "ib0 other up 10.1.0.5/", "ib0 other up /16",
        "ib0 other up 10.1.0.5/33", "ib0 other up 10.1.0.5/-1", "ib0 other up 10.1.0.5/1x",
        "ib0 other up fd00::5/129", "ib0 other up 10.1.0.5/4294967312", "ib0 other up n1/16",
        "ib0 other up ::ffff:10.1.0.5/112",
        /* not in the form that interface_print () uses */
        "ib0 other up 10.1.0.5/016", "ib0 other up FD00::5/64", "ib0 other up fd00:0::5/64",
        "ib0 other up ::ffff:10.1.0.5/16",
        " ib0 other up -", "ib0  other up -", "ib0 other  up -", "ib0 other up  -",
        "ib0\tother up -", "ib0 other\nup -", "ib0 other up\r-", "ib0 other up -\t0xff",
        "ib0 other up -\n", "ib0 other up 10.1.0.5/16\n",
        /* names that the kernel does not allow or that a terminal cannot print */
        "\033[2J other up -", "ib\033 other up -", "ib/0 other up -", "/ other up -",
        "../lo other up -", "ib0:1 other up -", "ib\x7f other up -", "\xc3\xa9 other up -",
        "i\xffnf other up -", "ib\x01 other up -",
        /* too long */
        "sixteen_letters_ other up -", "fifteen_lettersother up 10.1.0.5/16 0xff",
        "ib0 infinibandinfiniband up -", "ib0 fifteen_lettersup 10.1.0.5/16 -",
        "ib0 other no-carrierno-carrier -", "ib0 other fifteen_letters- 10.1.0.5/16",
        "ib0 other up ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128x",
        "ib0 other up ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
        "ib0 other up 10.1.0.5/160000000000000000000000000000000000000000 0xff",
    };
    struct interface interface;

    for (size_t i = 0; i < COUNT (row); i++)
        if (interface_parse (&interface, row[i]) != -1)
            fail_msg ("\"%s\" was accepted as an interface", row[i]);
}

TEST (each_parsed_text_is_printed_unchanged)
{
    uint64_t seed = FUZZ_SEED;
    int parsed = 0;

    for (int round = 0; round < FUZZ_ROUNDS; round++) {
        struct interface_text room;
        struct interface interface;
        const char *printed;
        char text[260], words[65];

        /* Mostly correct words, else almost no text would be parsed. */
        fuzz_text (&seed, words, sizeof (words) - 1, "up down 10.1.0.5/16 - fd00::/64 0xff ib");
        snprintf (text, sizeof (text), "%s%s%s%s", fuzz_next (&seed) % 4 ? "ib0" : words,
                  fuzz_next (&seed) % 8 ? " infiniband " : words,
                  fuzz_next (&seed) % 8 ? "up " : words,
                  fuzz_next (&seed) % 4 ? "10.1.0.5/16" : words);
        if (interface_parse (&interface, text) < 0)
            continue;
        parsed++;
        printed = interface_print (&interface, &room);
        assert_int_equal (strncmp (text, printed, strlen (printed)), 0);
        assert_true (is_line (interface.name));
        if (interface.local_cpus)
            assert_ptr_equal (interface.local_cpus, text + strlen (printed) + 1);
        else
            assert_int_equal (strlen (text), strlen (printed));
    }
    assert_true (parsed > FUZZ_ROUNDS / 4);
}

/* Listing the kernel's interfaces. */

/*
 * The list as text, one line for each entry. The list is in an allocation that ends with its last
 * entry, so that valgrind reports a read beyond it.
 */
static const char *listed (void)
{
    struct interface *list = malloc (INTERFACE_MAX * sizeof (*list));
    static char text[INTERFACE_MAX * (sizeof (struct interface_text) + 1)];
    struct errtext err = { "" };
    int count;

    text[0] = '\0';
    if ((count = interface_list (list, &err)) < 0)
        fail_msg ("%s", err.text);
    for (int i = 0; i < count; i++) {
        struct interface_text room;
        struct interface parsed;

        strcat (strcat (text, interface_print (&list[i], &room)), "\n");
        assert_int_equal (interface_parse (&parsed, room.text), 0);
        assert_null (list[i].local_cpus);
    }
    free (list);
    return text;
}

/* Wait until the list has these lines: the kernel reports a change of carrier with a delay. */
static void check_list (const char *lines)
{
    for (int i = 0; i < 500 && strcmp (listed (), lines) != 0; i++)
        nanosleep (&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    assert_string_equal (listed (), lines);
}

static void ip (const char *arguments)
{
    if (!netns_ip ("%s", arguments))
        fail_msg ("ip %s", arguments);
}

static bool has_ipv6 (void)
{
    return access ("/proc/net/if_inet6", F_OK) == 0;
}

static bool can_bind (const struct address *address)
{
    struct sockaddr_storage ss;
    socklen_t len = address_sockaddr (address, 0, &ss);
    int fd = socket (address->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc = bind (fd, (struct sockaddr *)&ss, len);

    close (fd);
    return rc == 0;
}

TEST (the_listed_addresses_are_this_machines)
{
    struct interface list[INTERFACE_MAX];
    struct errtext err = { "" };
    int count = interface_list (list, &err);

    assert_between (count, 0, INTERFACE_MAX);
    for (int i = 0; i < count; i++) {
        const struct address *address = &list[i].address.address;

        assert_int_not_equal (if_nametoindex (list[i].name), 0);
        assert_string_not_equal (list[i].name, "lo");
        assert_false (list[i].infiniband && i > 0 && !list[i - 1].infiniband);
        /* an IPv6 address may still be tentative */
        if (address->family == AF_INET)
            assert_true (can_bind (address));
    }
}

TEST (an_empty_network_namespace_has_no_interfaces)
{
    netns_enter ();
    check_list ("");
    ip ("link set lo up");
    check_list ("");
}

TEST (an_interface_is_listed_once_for_each_address)
{
    int device[2];

    netns_enter ();
    device[0] = netns_device ("eth0", false);
    device[1] = netns_device ("eth1", false);
    ip ("addr add 10.1.0.5/16 dev eth0");
    ip ("addr add 10.1.0.6/16 dev eth0 label eth0:1");
    ip ("addr add 10.2.0.5/8 dev eth1 label eth1:a:b");
    ip ("addr add 10.3.0.5 peer 10.3.0.6/32 dev eth1");
    ip ("addr add 203.0.113.9/0 dev eth1");
    ip ("link set eth0 up");
    ip ("link set eth1 up");
    check_list ("eth0 other up 10.1.0.5/16\n"
                "eth0 other up 10.1.0.6/16\n"
                "eth1 other up 10.2.0.5/8\n"
                "eth1 other up 10.3.0.5/32\n"
                "eth1 other up 203.0.113.9/0\n");
    close (device[0]);
    close (device[1]);
}

TEST (ipv6_comes_after_ipv4)
{
    int device[2];

    netns_enter ();
    if (!has_ipv6 ())
        SKIP ("this machine has no IPv6");
    device[0] = netns_device ("eth0", false);
    device[1] = netns_device ("eth1", false);
    ip ("addr add fd00::5/64 dev eth0 nodad");
    ip ("addr add fd01::5/128 dev eth1 nodad");
    ip ("addr add 10.1.0.5/16 dev eth1");
    ip ("link set eth0 up");
    check_list ("eth1 other down 10.1.0.5/16\n"
                "eth0 other up fd00::5/64\n"
                "eth1 other down fd01::5/128\n");
    close (device[0]);
    close (device[1]);
}

TEST (addresses_that_peers_cannot_connect_to_are_left_out)
{
    int device[2];

    netns_enter ();
    device[0] = netns_device ("eth0", false);
    device[1] = netns_device ("eth1", false);
    ip ("link set lo up");
    ip ("addr add 10.9.9.9/32 dev lo");             /* an address of a service, not of the node */
    ip ("addr add 169.254.7.9/16 dev eth0");
    ip ("addr add 127.7.0.1/16 dev eth0");
    ip ("addr add 10.1.0.5/16 dev eth1");
    ip ("addr add 169.254.7.10/16 dev eth1");
    ip ("link set eth0 up");
    ip ("link set eth1 up");
    check_list ("eth1 other up 10.1.0.5/16\n"
                "eth0 other up -\n");
    close (device[0]);
    close (device[1]);
}

TEST (ipv6_addresses_that_peers_cannot_connect_to_are_left_out)
{
    int device[2];

    netns_enter ();
    if (!has_ipv6 ())
        SKIP ("this machine has no IPv6");
    device[0] = netns_device ("eth0", false);
    device[1] = netns_device ("eth1", false);
    ip ("addr add fe80::5/64 dev eth0 nodad");
    /* an IPv4-mapped address, with a prefix length too small for one */
    ip ("addr add ::ffff:10.1.0.5/96 dev eth1 nodad");
    ip ("link set eth0 up");
    ip ("link set eth1 up");                        /* the kernel adds a link-local address */
    check_list ("eth0 other up -\n"
                "eth1 other up -\n");
    close (device[0]);
    close (device[1]);
}

TEST (an_interface_is_up_if_it_has_carrier)
{
    int device[4];

    netns_enter ();
    for (int i = 0; i < 4; i++) {
        char name[IF_NAMESIZE];

        snprintf (name, sizeof (name), "ib%d", i);
        device[i] = netns_device (name, i < 2);
    }
    ip ("addr add 10.0.0.5/16 dev ib0");
    ip ("addr add 10.2.0.5/16 dev ib2");
    check_list ("ib0 infiniband down 10.0.0.5/16\n"
                "ib1 infiniband down -\n"
                "ib2 other down 10.2.0.5/16\n"
                "ib3 other down -\n");
    for (int i = 0; i < 4; i++)
        if (!netns_ip ("link set ib%d up", i))
            fail_msg ("ib%d", i);
    check_list ("ib0 infiniband up 10.0.0.5/16\n"
                "ib1 infiniband up -\n"
                "ib2 other up 10.2.0.5/16\n"
                "ib3 other up -\n");
    for (int i = 0; i < 4; i++)
        if (!netns_ip ("link set ib%d carrier off", i))
            fail_msg ("ib%d", i);
    check_list ("ib0 infiniband no-carrier 10.0.0.5/16\n"
                "ib1 infiniband no-carrier -\n"
                "ib2 other no-carrier 10.2.0.5/16\n"
                "ib3 other no-carrier -\n");
    for (int i = 0; i < 4; i++)
        close (device[i]);
}

TEST (infiniband_interfaces_come_first)
{
    int device[3];

    netns_enter ();
    device[0] = netns_device ("ib0", false);
    device[1] = netns_device ("eth9", true);
    device[2] = netns_device ("eth8", true);
    ip ("addr add 10.1.0.5/16 dev ib0");
    ip ("link set ib0 up");
    ip ("addr add 10.2.0.5/16 dev eth8");
    ip ("addr add 10.3.0.5/16 dev eth8 label eth8:0");
    ip ("link set eth8 up");
    check_list ("eth8 infiniband up 10.2.0.5/16\n"
                "eth8 infiniband up 10.3.0.5/16\n"
                "eth9 infiniband down -\n"
                "ib0 other up 10.1.0.5/16\n");
    for (int i = 0; i < 3; i++)
        close (device[i]);
}

TEST (an_interface_with_an_unprintable_name_is_left_out)
{
    int device[3];

    netns_enter ();
    device[0] = netns_device ("\xc3\xa9th0", false);
    device[1] = netns_device ("\033[2J", false);
    device[2] = netns_device ("~a\"b{}", false);
    ip ("addr add 10.1.0.5/16 dev \xc3\xa9th0");
    ip ("addr add 10.2.0.5/16 dev '~a\"b{}'");
    check_list ("~a\"b{} other down 10.2.0.5/16\n");
    for (int i = 0; i < 3; i++)
        close (device[i]);
}

/* Add 10.NET.0.1/16, 10.NET.0.2/16 and so on. */
static void add_addresses (const char *name, int net, int count)
{
    FILE *batch = popen ("ip -batch -", "w");

    for (int i = 1; i <= count; i++)
        fprintf (batch, "addr add 10.%d.0.%d/16 dev %s\n", net, i, name);
    assert_int_equal (pclose (batch), 0);
}

/* Append the same addresses to `text` as lines of a list. Returns the end of the text. */
static char *print_addresses (char *text, const char *link, int net, int count)
{
    for (int i = 1; i <= count; i++)
        text += sprintf (text, "%s down 10.%d.0.%d/16\n", link, net, i);
    return text;
}

TEST (a_full_list_prefers_infiniband_interfaces)
{
    static char lines[INTERFACE_MAX * sizeof (struct interface_text)];
    int device[3];
    char *end;

    netns_enter ();
    device[0] = netns_device ("eth0", false);
    device[1] = netns_device ("ib0", true);
    device[2] = netns_device ("ib1", true);
    add_addresses ("eth0", 1, INTERFACE_MAX + 6);
    add_addresses ("ib0", 2, 3);
    end = print_addresses (lines, "ib0 infiniband", 2, 3);
    end += sprintf (end, "ib1 infiniband down -\n");
    print_addresses (end, "eth0 other", 1, INTERFACE_MAX - 4);
    check_list (lines);

    add_addresses ("ib1", 3, INTERFACE_MAX + 6);
    end = print_addresses (lines, "ib0 infiniband", 2, 3);
    print_addresses (end, "ib1 infiniband", 3, INTERFACE_MAX - 3);
    check_list (lines);
    for (int i = 0; i < 3; i++)
        close (device[i]);
}

TEST (a_full_list_omits_further_interfaces_without_an_address)
{
    static char lines[INTERFACE_MAX * sizeof (struct interface_text)];
    int device[INTERFACE_MAX + 2];
    char *end = lines;

    netns_enter ();
    for (int i = 0; i < (int)COUNT (device); i++) {
        char name[IF_NAMESIZE];

        snprintf (name, sizeof (name), "eth%d", i);
        device[i] = netns_device (name, false);
        if (i < INTERFACE_MAX)
            end += sprintf (end, "%s other down -\n", name);
    }
    check_list (lines);
    for (size_t i = 0; i < COUNT (device); i++)
        close (device[i]);
}

/* The interface with an address. */

static void check_with_address (const char *text, const char *expected)
{
    char name[IF_NAMESIZE] = "none";
    struct address address;

    assert_int_equal (address_parse (&address, text), 0);
    assert_int_equal (interface_with_address (name, &address), strcmp (expected, "none") ? 0 : -1);
    assert_string_equal (name, expected);
}

TEST (the_interface_with_an_address_is_found)
{
    int device[2];

    netns_enter ();
    device[0] = netns_device ("eth0", false);
    device[1] = netns_device ("ib0", true);
    ip ("addr add 10.0.0.1/16 dev eth0");
    ip ("addr add 10.0.0.2/16 dev eth0 label eth0:1");
    ip ("addr add 10.1.0.1/16 dev ib0");
    ip ("addr add 10.9.0.1/32 dev ib0");
    check_with_address ("10.0.0.1", "eth0");
    check_with_address ("10.0.0.2", "eth0");
    check_with_address ("10.1.0.1", "ib0");
    check_with_address ("10.9.0.1", "ib0");
    check_with_address ("::ffff:10.1.0.1", "ib0");
    check_with_address ("10.1.0.2", "none");
    if (has_ipv6 ()) {
        ip ("addr add fd00::5/64 dev ib0 nodad");
        check_with_address ("fd00::5", "ib0");
        check_with_address ("fd00::6", "none");
    }
    close (device[0]);
    close (device[1]);
}

TEST (of_two_interfaces_with_an_address_the_one_with_carrier_is_found)
{
    int device[2];

    netns_enter ();
    device[0] = netns_device ("eth0", false);
    device[1] = netns_device ("eth1", false);
    ip ("addr add 10.0.0.1/32 dev eth0");
    ip ("addr add 10.0.0.1/32 dev eth1");
    ip ("link set eth1 up");
    check_with_address ("10.0.0.1", "eth1");
    ip ("link set eth1 down");
    ip ("link set eth0 up");
    check_with_address ("10.0.0.1", "eth0");
    close (device[0]);
    close (device[1]);
}

TEST (a_loopback_address_is_on_the_loopback_interface)
{
    netns_enter ();
    ip ("link set lo up");
    check_with_address ("127.0.0.1", "lo");
    check_with_address ("127.0.1.1", "lo");
    check_with_address ("10.0.0.1", "none");
}

/* Failures. */

/* The number that the next descriptor will get. */
static int next_descriptor (void)
{
    int fd = dup (STDIN_FILENO);

    close (fd);
    return fd;
}

/* interface_list () fails if the process can open only so many more descriptors. */
static void check_descriptors (int more)
{
    struct interface list[INTERFACE_MAX];
    struct errtext err = { "" };
    struct rlimit old, limit;
    int next = next_descriptor (), rc;

    assert_int_equal (getrlimit (RLIMIT_NOFILE, &old), 0);
    limit = old;
    limit.rlim_cur = (rlim_t)(next + more);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &limit), 0);
    rc = interface_list (list, &err);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &old), 0);
    assert_int_equal (rc, -1);
    assert_string_equal (err.text, "cannot list network interfaces: Too many open files");
    assert_int_equal (next_descriptor (), next);
}

TEST (a_failure_to_list_the_interfaces_is_reported)
{
    struct interface list[INTERFACE_MAX];
    struct errtext err = { "" };

    check_descriptors (0);
    check_descriptors (1);
    no_ipv4 = no_ipv6 = true;
    assert_int_equal (interface_list (list, &err), -1);
    no_ipv4 = no_ipv6 = false;
    assert_string_equal (err.text, "cannot list network interfaces: Address family not "
                         "supported by protocol");
}

TEST (a_list_leaves_no_descriptor_open)
{
    struct interface list[INTERFACE_MAX];
    int next = next_descriptor ();

    assert_true (interface_list (list, NULL) >= 0);
    assert_int_equal (next_descriptor (), next);
}

TEST (infiniband_is_recognized_on_a_node_without_ipv4)
{
    int device;

    netns_enter ();
    if (!has_ipv6 ())
        SKIP ("this machine has no IPv6");
    device = netns_device ("ib0", true);
    ip ("addr add fd00::5/64 dev ib0 nodad");
    no_ipv4 = true;
    check_list ("ib0 infiniband down fd00::5/64\n");
    no_ipv4 = false;
    close (device);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_printed_interface_is_parsed_as_the_same_interface),
        cmocka_unit_test (local_cpus_follow_the_interface),
        cmocka_unit_test (text_that_is_not_an_interface_is_refused),
        cmocka_unit_test (each_parsed_text_is_printed_unchanged),
        cmocka_unit_test (the_listed_addresses_are_this_machines),
        cmocka_unit_test (an_empty_network_namespace_has_no_interfaces),
        cmocka_unit_test (an_interface_is_listed_once_for_each_address),
        cmocka_unit_test (ipv6_comes_after_ipv4),
        cmocka_unit_test (addresses_that_peers_cannot_connect_to_are_left_out),
        cmocka_unit_test (ipv6_addresses_that_peers_cannot_connect_to_are_left_out),
        cmocka_unit_test (an_interface_is_up_if_it_has_carrier),
        cmocka_unit_test (infiniband_interfaces_come_first),
        cmocka_unit_test (an_interface_with_an_unprintable_name_is_left_out),
        cmocka_unit_test (a_full_list_prefers_infiniband_interfaces),
        cmocka_unit_test (a_full_list_omits_further_interfaces_without_an_address),
        cmocka_unit_test (the_interface_with_an_address_is_found),
        cmocka_unit_test (of_two_interfaces_with_an_address_the_one_with_carrier_is_found),
        cmocka_unit_test (a_loopback_address_is_on_the_loopback_interface),
        cmocka_unit_test (a_failure_to_list_the_interfaces_is_reported),
        cmocka_unit_test (a_list_leaves_no_descriptor_open),
        cmocka_unit_test (infiniband_is_recognized_on_a_node_without_ipv4),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
