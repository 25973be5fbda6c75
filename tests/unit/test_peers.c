/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "sockets.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include "rendezvous/peers.h"

/* A process that has just been forked has the connections, too, until it closes them. */
static void closes_one_that_another_process_has (void (*do_close) (struct peers *, struct peer *))
{
    int port = 0, listener = listening_socket ("127.0.0.1", &port, 1), task, copy;
    struct roster roster = { 0 };
    struct epoll_event event;
    struct peers peers;

    assert_int_equal (fcntl (listener, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal (peers_init (&peers, listener), 0);
    task = connected_to (port);
    peers_accept (&peers, 1, 1024);
    assert_non_null (peers.oldest);
    assert_int_equal (write (task, "a frame", 7), 7);
    assert_int_equal (epoll_wait (peers.epoll, &event, 1, 1000), 1);
    assert_ptr_equal (event.data.ptr, peers.oldest);
    copy = dup (peers.oldest->fd);
    do_close (&peers, peers.oldest);
    assert_int_equal (epoll_wait (peers.epoll, &event, 1, 0), 0);
    close (copy);
    close (task);
    peers_clear (&peers, &roster);
    close (listener);
}

TEST (no_event_points_to_a_connection_that_is_closed)
{
    closes_one_that_another_process_has (peer_close);
}

TEST (nor_to_one_that_is_aborted)
{
    closes_one_that_another_process_has (peer_abort);
}
