/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * interface.golden has what depends on devices and addresses of a network namespace.
 */
#include "config.h"

#include "story.h"

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
        { "ib1 infiniband no-carrier 10.2.0.5/32", "ib1", "10.2.0.5/32", true, INTERFACE_NO_CARRIER, false },
        { "enp1s0f0np0 other up fd00::5/64", "enp1s0f0np0", "fd00::5/64", false, INTERFACE_UP, true },
        { "fifteen_letters infiniband no-carrier ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
          "fifteen_letters", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", true, INTERFACE_NO_CARRIER,
          false },
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
    /* clang-format off */
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
    /* clang-format on */
    struct interface interface;

    for (size_t i = 0; i < COUNT (row); i++)
        if (interface_parse (&interface, row[i]) != -1)
            fail_msg ("\"%s\" was accepted as an interface", row[i]);
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
static const char *list_when (const char *lines)
{
    for (int i = 0; i < 500 && strcmp (listed (), lines) != 0; i++)
        nanosleep (&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    return listed ();
}

/* Stories, each in a network namespace of its own. */

static int device[INTERFACE_MAX + 2], devices;
static bool entered;

static void enter (void)
{
    if (!entered)
        netns_enter ();
    entered = true;
}

static void end (void)
{
    while (devices > 0)
        close (device[--devices]);
    entered = no_ipv4 = no_ipv6 = false;
}

static void add_device (const char *name, bool infiniband)
{
    enter ();
    device[devices++] = netns_device (name, infiniband);
}

static void print_with_address (const char *text)
{
    char name[IF_NAMESIZE] = "-";
    struct address address;

    assert_int_equal (address_parse (&address, text), 0);
    if (interface_with_address (name, &address) < 0)
        assert_string_equal (name, "-");
    story_result ("%s", name);
}

static void play (char *event)
{
    enter ();
    if (story_begins (&event, "needs IPv6")) {
        if (access ("/proc/net/if_inet6", F_OK) < 0)
            SKIP ("this machine has no IPv6");
    } else if (story_begins (&event, "without IPv4"))
        no_ipv4 = true;
    else if (story_begins (&event, "ethernet"))
        while (*event)
            add_device (story_word (&event), false);
    else if (story_begins (&event, "infiniband"))
        while (*event)
            add_device (story_word (&event), true);
    else if (story_begins (&event, "ip")) {
        if (!netns_ip ("%s", event))
            fail_msg ("ip %s", event);
    } else if (story_begins (&event, "list"))
        story_print ("%s", list_when (story_expected ()));
    else if (story_begins (&event, "which has"))
        print_with_address (event);
    else
        story_unknown (event);
}

STORIES (GOLDEN, play, end)

static int leave (void **unused __attribute__ ((unused)))
{
    end ();
    return 0;
}

EACH_TEST (NULL, leave)

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
    char *next;

    add_device ("eth0", false);
    add_device ("ib0", true);
    add_device ("ib1", true);
    add_addresses ("eth0", 1, INTERFACE_MAX + 6);
    add_addresses ("ib0", 2, 3);
    next = print_addresses (lines, "ib0 infiniband", 2, 3);
    next += sprintf (next, "ib1 infiniband down -\n");
    print_addresses (next, "eth0 other", 1, INTERFACE_MAX - 4);
    assert_string_equal (list_when (lines), lines);

    add_addresses ("ib1", 3, INTERFACE_MAX + 6);
    next = print_addresses (lines, "ib0 infiniband", 2, 3);
    print_addresses (next, "ib1 infiniband", 3, INTERFACE_MAX - 3);
    assert_string_equal (list_when (lines), lines);
}

TEST (a_full_list_omits_further_interfaces_without_an_address)
{
    static char lines[INTERFACE_MAX * sizeof (struct interface_text)];
    char *next = lines;

    for (int i = 0; i < (int)COUNT (device); i++) {
        char name[IF_NAMESIZE];

        snprintf (name, sizeof (name), "eth%d", i);
        add_device (name, false);
        if (i < INTERFACE_MAX)
            next += sprintf (next, "%s other down -\n", name);
    }
    assert_string_equal (list_when (lines), lines);
}

TEST (an_interface_with_an_unprintable_name_is_left_out)
{
    add_device ("\xc3\xa9th0", false);
    add_device ("\033[2J", false);
    add_device ("~a\"b{}", false);
    assert_true (netns_ip ("addr add 10.1.0.5/16 dev \xc3\xa9th0"));
    assert_true (netns_ip ("addr add 10.2.0.5/16 dev '~a\"b{}'"));
    assert_string_equal (listed (), "~a\"b{} other down 10.2.0.5/16\n");
}

/* Failures. */

/* interface_list () fails if the process can open only so many more descriptors. */
static void check_descriptors (int more)
{
    struct interface list[INTERFACE_MAX];
    struct errtext err = { "" };
    struct rlimit old, limit;
    int next = next_descriptor (), rc;

    assert_int_equal (getrlimit (RLIMIT_NOFILE, &old), 0);
    limit = old;
    limit.rlim_cur = (rlim_t)next + (rlim_t)more;
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
