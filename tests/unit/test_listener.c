/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Real sockets, in a network namespace of the test if it runs as root.
 */
#include "config.h"

#include "clock.h"
#include "netns.h"
#include "sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/diag.h"
#include "common/errtext.h"
#include "common/port.h"
#include "supervise/listener.h"

/* Does a process of this network namespace listen on the port? */
static bool is_listened_on (int port)
{
    int count = diag_dump (1U << TCP_LISTEN, port, NULL, NULL);

    assert_true (count >= 0);
    return count > 0;
}

TEST (a_socket_counts_when_it_listens)
{
    static const char *const address[] = { "0.0.0.0", "127.0.0.1", "::", "::1" };

    for (size_t i = 0; i < COUNT (address); i++) {
        int port = 0, other = 0, fd = bound_socket (address[i], &port),
            neighbour = bound_socket (address[i], &other);

        assert_int_equal (listen (neighbour, 1), 0);
        assert_false (is_listened_on (port));
        assert_int_equal (listen (fd, 1), 0);
        assert_true (is_listened_on (port));
        assert_true (is_listened_on (other));
        close (fd);
        assert_false (is_listened_on (port));
        close (neighbour);
    }
}

/* As of a port that is held for the task, and of a client of another program's server. */
TEST (a_connection_is_not_a_listener)
{
    int port = 0, own = 0, server = bound_socket ("127.0.0.1", &port),
        client = bound_socket ("127.0.0.1", &own);

    assert_int_equal (listen (server, 1), 0);
    assert_int_equal (connect_to (client, port), 0);
    assert_false (is_listened_on (own));
    close (server);
    assert_false (is_listened_on (port));
    close (client);
}

/* The answer for many sockets comes in many parts. */
TEST (many_listeners_are_no_problem)
{
    int port = 0, free_port = 0, fd[500];

    fd[0] = bound_socket ("0.0.0.0", &port);
    for (size_t i = 0; i < COUNT (fd); i++) {
        int other = 0;

        if (i > 0)
            fd[i] = bound_socket ("127.0.0.1", &other);
        assert_int_equal (listen (fd[i], 1), 0);
    }
    assert_true (is_listened_on (port));
    close (bound_socket ("0.0.0.0", &free_port));
    assert_false (is_listened_on (free_port));
    for (size_t i = 0; i < COUNT (fd); i++)
        close (fd[i]);
}

/* So much time passes. True if the kernel is asked then. */
static bool looks_after (struct listener *listener, int ms)
{
    struct deadline due = listener->due;

    now_ms += ms;
    listener_look (listener);
    return listener->due.at_ms != due.at_ms;
}

TEST (pauses_grow_until_a_listener_was_seen)
{
    int pause_ms = 1000, passed_ms = 0, longest_ms = 0;
    int port = 0, master_port = 0, fd = bound_socket ("::", &port),
        second = bound_socket ("::", &master_port);
    struct listener listener = { .port = { port, master_port } };

    listener_begin (&listener);
    assert_int_equal (listener.use, ADDRESS_UNKNOWN);
    while (passed_ms < 1000000) {
        assert_false (looks_after (&listener, pause_ms - 1));
        assert_true (looks_after (&listener, 1));
        assert_int_equal (listener.use, ADDRESS_UNUSED);
        passed_ms += pause_ms;
        pause_ms = listener.pause_ms;
        longest_ms = pause_ms > longest_ms ? pause_ms : longest_ms;
        /* A minute is what alone_is_likely () needs. */
        assert_true (passed_ms < 40000 || pause_ms <= passed_ms / 4);
    }
    assert_int_equal (longest_ms, 30000);
    /* Its next life begins: often again. */
    listener_begin (&listener);
    assert_int_equal (listen (second, 1), 0);
    assert_true (looks_after (&listener, 1000));
    assert_int_equal (listener.use, ADDRESS_USED);
    close (second);
    assert_false (looks_after (&listener, 1000000));
    listener_begin (&listener);
    assert_false (looks_after (&listener, 1000000));
    assert_int_equal (listener.use, ADDRESS_USED);
    close (fd);
}

TEST (of_a_hidden_program_nothing_is_known)
{
    struct listener listener = { .port = { 0, 0 } };

    listener_begin (&listener);
    assert_false (looks_after (&listener, 1000000));
    assert_int_equal (listener.use, ADDRESS_UNKNOWN);
    listener = (struct listener){ .port = { 40000, 0 } };
    listener_begin (&listener);
    assert_true (looks_after (&listener, 1000));
    listener_hide (&listener);
    listener_begin (&listener);
    assert_false (looks_after (&listener, 1000000));
    assert_int_equal (listener.use, ADDRESS_UNKNOWN);
}
