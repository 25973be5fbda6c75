/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The link of two nodes: this process listens, and a child is the other node.
 */
#include "config.h"

#include "sockets.h"

#include "protocol/contact.h"
#include "supervise/link_check.h"

/* A connection after the other must not take this time. */
#define LONG_MS 10000
/* More than may wait. */
#define STRANGERS 40

static char token[CONTACT_TOKEN], server_token[CONTACT_TOKEN];

static struct link_peer peer_at (int port, bool serves)
{
    struct link_peer peer = { .serves = serves, .port = port, .token = token, .server_token = server_token };

    memset (token, 'a', sizeof (token) - 1);
    memset (server_token, 'b', sizeof (server_token) - 1);
    address_parse (&peer.address, "127.0.0.1");
    return peer;
}

/* A port at which nothing listens: the kernel refuses connections. */
static int free_port (void)
{
    int port = 0, fd = bound_socket ("127.0.0.1", &port);

    close (fd);
    return port;
}

static int connect_when_it_listens (int port)
{
    for (;;) {
        int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (connect_to (fd, port) == 0)
            return fd;
        close (fd);
        poll (NULL, 0, 5);
    }
}

/* Connections that say this first, or nothing, and then the other node. Its exit code is 0 if it measures. */
static pid_t other_node (int port, const char *said, int strangers)
{
    struct link_peer peer = peer_at (port, false);
    struct errtext err;
    pid_t pid = fork ();

    if (pid == 0) {
        for (int i = 0; i < strangers; i++) {
            int fd = connect_when_it_listens (port);

            if (said && send (fd, said, strlen (said), MSG_NOSIGNAL) < 0)
                _exit (2);
        }
        _exit (link_check (&peer, LONG_MS, &err) > 0 ? 0 : 1);
    }
    return pid;
}

static void is_measured_after (const char *said, int strangers)
{
    int port = free_port ();
    pid_t pid = other_node (port, said, strangers);
    struct link_peer peer = peer_at (port, true);
    struct errtext err = { "" };

    assert_int_equal (link_check (&peer, LONG_MS, &err), 0);
    assert_int_equal (end_of (pid), 0);
}

TEST (the_one_that_connects_measures)
{
    is_measured_after (NULL, 0);
}

TEST (connections_that_say_nothing_keep_the_other_node_from_nothing)
{
    is_measured_after (NULL, STRANGERS);
}

TEST (connections_that_show_no_token_or_another_one_are_closed)
{
    char other[CONTACT_TOKEN];

    memset (other, 'c', sizeof (other) - 1);
    other[sizeof (other) - 1] = '\0';
    is_measured_after ("GET / HTTP/1.0\r\n", 3);
    is_measured_after (other, 3);
}

TEST (without_the_other_node_it_ends)
{
    int port = free_port ();
    struct link_peer serves = peer_at (port, true), connects = peer_at (port, false);
    struct errtext err;

    assert_int_equal (link_check (&serves, 100, &err), -1);
    assert_string_equal (err.text, "no connection came");
    assert_int_equal (link_check (&connects, 100, &err), -1);
    assert_string_equal (err.text, "Connection refused");
}
