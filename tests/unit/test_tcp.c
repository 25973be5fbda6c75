/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "sockets.h"

#include <errno.h>
#include <linux/tcp.h>

#include "common/silence.h"
#include "common/tcp.h"

/* Both ends of a connection: the end that connected and the end that was accepted. */
static void make_pair (int end[2])
{
    int port = 0, listener = listening_socket ("127.0.0.1", &port, 1);

    end[0] = connected_to (port);
    end[1] = accept (listener, NULL, NULL);
    assert_true (end[1] >= 0);
    close (listener);
}

TEST (after_tcp_abort_the_peer_reads_all_data_and_then_a_reset)
{
    char text[8] = "";
    int end[2];

    make_pair (end);
    assert_int_equal (send (end[0], "report", 6, 0), 6);
    tcp_abort (end[0]);
    assert_int_equal (recv (end[1], text, sizeof (text), 0), 6);
    assert_string_equal (text, "report");
    /* A reset, not a FIN, which would leave the port in TIME_WAIT for a minute. */
    assert_int_equal (recv (end[1], text, sizeof (text), 0), -1);
    assert_int_equal (errno, ECONNRESET);
    close (end[1]);
}

TEST (data_that_is_not_acknowledged_breaks_an_accepted_connection_within_a_minute)
{
    int port = 0, listener = listening_socket ("127.0.0.1", &port, 1), end[2], ms = 0;
    socklen_t len = sizeof (ms);

    tcp_keep_alive (listener, TCP_BROKEN_MS);
    end[0] = connected_to (port);
    assert_true ((end[1] = accept (listener, NULL, NULL)) >= 0);
    assert_int_equal (getsockopt (end[1], IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &len), 0);
    assert_between (ms, 1, 60000);
    close (listener);
    close (end[0]);
    close (end[1]);
}

TEST (a_peer_is_asked_in_time_and_answers)
{
    static const int lost_after[] = { 5, 10, 30, 60, 300, 604800 };
    int end[2], interval, count;
    socklen_t len = sizeof (int);

    make_pair (end);
    for (size_t i = 0; i < COUNT (lost_after); i++) {
        int broken = 0;

        silence_watch (end[0], lost_after[i], 1234);
        assert_int_equal (getsockopt (end[0], IPPROTO_TCP, TCP_KEEPINTVL, &interval, &len), 0);
        assert_int_equal (getsockopt (end[0], IPPROTO_TCP, TCP_USER_TIMEOUT, &broken, &len), 0);
        assert_int_equal (interval, silence_interval (lost_after[i]));
        assert_int_equal (broken, 1234);
        assert_int_equal (getsockopt (end[0], IPPROTO_TCP, TCP_KEEPCNT, &count, &len), 0);
        /*
         * A supervisor may have heard of the rendezvous an interval later than the reverse, and has to
         * kill.
         */
        assert_true (silence_verdict_ms (lost_after[i]) >= 1000 * (lost_after[i] + interval) + 1000);
        assert_true (interval * 5 <= lost_after[i]);
    }
    /* Within a second: the other end's kernel answers, and its program need not. */
    silence_watch (end[0], 5, 60000);
    while (silence_ms (end[0], NULL) < 300)
        usleep (10000);
    for (int i = 0; i < 1000 && silence_ms (end[0], NULL) >= 300; i++)
        usleep (10000);
    assert_true (silence_ms (end[0], NULL) < 300);
    close (end[0]);
    close (end[1]);
}

TEST (the_questions_of_a_peer_are_no_answers_but_segments)
{
    int end[2], silent, ms = 0;
    uint32_t before, segments;

    make_pair (end);
    while (silence_ms (end[0], NULL) < 300)
        usleep (10000);
    silent = silence_ms (end[0], &before);
    segments = before;
    /* Within a second. */
    silence_watch (end[1], 5, 60000);
    for (int i = 0; i < 1000 && segments == before; i++) {
        usleep (10000);
        ms = silence_ms (end[0], &segments);
    }
    assert_int_not_equal (segments, before);
    assert_true (ms >= silent);
    close (end[0]);
    close (end[1]);
}

TEST (a_socket_that_is_not_tcp_is_never_silent)
{
    uint32_t segments;
    int end[2];

    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM, 0, end), 0);
    assert_int_equal (silence_ms (end[0], &segments), 0);
    assert_int_equal (segments, 0);
    close (end[0]);
    close (end[1]);
}
