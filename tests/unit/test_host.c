/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addresses/host.h"

TEST (a_hosts_id_is_its_boot_id_and_network_namespace)
{
    struct host host;

    host_self (&host);
    assert_int_equal (strcspn (host.id, "/"), 36);
    assert_null (strpbrk (host.id, " \t\n"));
    assert_true (strlen (host.id) > 37);
}

/*
 * Read the host of a child, in a new network namespace if `unshared`, else in the same one. Returns
 * false without the permission to create a namespace.
 */
static bool ask_child (bool unshared, struct host *host)
{
    int pair[2], status;
    ssize_t n;
    pid_t pid;

    assert_int_equal (pipe (pair), 0);
    if ((pid = fork ()) == 0) {
        if (unshared && unshare (CLONE_NEWNET) < 0)
            _exit (1);
        memset (host, 0, sizeof (*host));
        host_self (host);
        _exit (write (pair[1], host, sizeof (*host)) == sizeof (*host) ? 0 : 1);
    }
    close (pair[1]);
    n = read (pair[0], host, sizeof (*host));
    close (pair[0]);
    waitpid (pid, &status, 0);
    assert_true (n != sizeof (*host) || status == 0);
    return n == sizeof (*host);
}

TEST (processes_of_one_network_namespace_share_a_host)
{
    struct host mine, childs;

    host_self (&mine);
    assert_true (ask_child (false, &childs));
    assert_string_equal (mine.id, childs.id);
}

TEST (another_network_namespace_is_another_host)
{
    struct host mine, childs;

    host_self (&mine);
    if (!ask_child (true, &childs))
        SKIP ("only root may make a network namespace");
    assert_string_not_equal (mine.id, childs.id);
}
