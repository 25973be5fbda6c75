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
