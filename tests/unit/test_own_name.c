/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "addresses/own_name.h"

#define NAME "own-name"

/* This process' host gets a name, an /etc/hosts, and no name server. */
static void enter (void)
{
    if (unshare (CLONE_NEWNS | CLONE_NEWUTS) < 0)
        SKIP ("only root may create a mount namespace");
    assert_int_equal (mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal (mount (file_with (""), "/etc/hosts", "none", MS_BIND, NULL), 0);
    assert_int_equal (mount ("/dev/null", "/etc/resolv.conf", "none", MS_BIND, NULL), 0);
    assert_int_equal (sethostname (NAME, strlen (NAME)), 0);
}

static void set_hosts (const char *content)
{
    static bool entered;

    if (!entered)
        enter ();
    entered = true;
    file_with (content);
}

TEST (a_name_is_right_if_it_leads_to_an_address_of_the_host_that_is_no_loopback_address)
{
    /* clang-format off */
    static const struct {
        const char *hosts, *fault;
    } row[] = {
        { "127.0.0.1 localhost\n127.0.1.1 " NAME "\n", "127.0.1.1" },
        { "127.0.1.1\t" NAME ".example.org  " NAME " # as the installer wrote it\n", "127.0.1.1" },
        { "192.0.2.1 " NAME "\n", "192.0.2.1" },
        { "127.0.0.1 localhost\n192.0.2.1 another\n", OWN_NAME_NOWHERE },
        { "", OWN_NAME_NOWHERE },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct address_text room;
        const char *fault;

        set_hosts (row[i].hosts);
        assert_non_null (fault = own_name_fault (&room));
        assert_string_equal (fault, row[i].fault);
    }
}

TEST (an_address_of_the_host_is_right)
{
    struct address_text room;

    if (unshare (CLONE_NEWNET) < 0 || system ("ip link set lo up && ip address add 192.0.2.1/32 dev lo") != 0)
        SKIP ("only root may give a device an address, by the program ip (iproute2)");
    set_hosts ("192.0.2.1 " NAME "\n");
    assert_null (own_name_fault (&room));
    /* The first one that can be bound counts. */
    set_hosts ("192.0.2.2 " NAME "\n192.0.2.1 " NAME "\n");
    assert_null (own_name_fault (&room));
}

TEST (a_fault_is_explained)
{
    char text[OWN_NAME_TEXT];

    assert_string_equal (own_name_explain (text, OWN_NAME_NOWHERE), "does not resolve");
    assert_string_equal (own_name_explain (text, "127.0.1.1"), "leads to 127.0.1.1, a loopback address");
    assert_string_equal (own_name_explain (text, "::1"), "leads to ::1, a loopback address");
    assert_string_equal (own_name_explain (text, "10.0.0.9"), "leads to 10.0.0.9, not its own address");
    assert_string_equal (own_name_explain (text, "\033]0;x\007"), "does not resolve");
}
