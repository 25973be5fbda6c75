/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"

static int listener_at (struct sockaddr_in *in)
{
    socklen_t len = sizeof (*in);
    int listener = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    *in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    assert_int_equal (bind (listener, (struct sockaddr *)in, len), 0);
    assert_int_equal (listen (listener, 1), 0);
    assert_int_equal (getsockname (listener, (struct sockaddr *)in, &len), 0);
    return listener;
}

/* Both ends of a connection: the one that dialled, and the one that was accepted. */
static void make_pair (int end[2])
{
    struct sockaddr_in in;
    int listener = listener_at (&in);

    end[0] = socket (AF_INET, SOCK_STREAM, 0);
    assert_int_equal (connect (end[0], (struct sockaddr *)&in, sizeof (in)), 0);
    end[1] = accept (listener, NULL, NULL);
    assert_true (end[1] >= 0);
    close (listener);
}

TEST (what_was_said_before_the_close_is_read_and_then_the_connection_is_reset)
{
    char text[8] = "";
    int end[2];

    make_pair (end);
    assert_int_equal (send (end[0], "report", 6, 0), 6);
    connection_close (end[0]);
    assert_int_equal (recv (end[1], text, sizeof (text), 0), 6);
    assert_string_equal (text, "report");
    /* As a reset, and not as an end that would leave the port busy for a minute. */
    assert_int_equal (recv (end[1], text, sizeof (text), 0), -1);
    assert_int_equal (errno, ECONNRESET);
    close (end[1]);
}

TEST (a_quiet_connection_is_looked_after)
{
    int end[2], on = 0, idle = 0;
    socklen_t len = sizeof (on);

    make_pair (end);
    connection_keep_alive (end[0]);
    assert_int_equal (getsockopt (end[0], SOL_SOCKET, SO_KEEPALIVE, &on, &len), 0);
    assert_int_equal (getsockopt (end[0], IPPROTO_TCP, TCP_KEEPIDLE, &idle, &len), 0);
    assert_true (on && idle <= 60);
    close (end[0]);
    close (end[1]);
}

/* How many packets it has sent. */
static unsigned int packets (int fd)
{
    struct tcp_info info = { 0 };
    socklen_t len = sizeof (info);

    assert_int_equal (getsockopt (fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
    return info.tcpi_segs_out;
}

/* The kernel does not wait for ever, and this machine may be busy: so often something is tried. */
#define ATTEMPTS 10

static void read_words (int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };
    char text[8];

    assert_int_equal (poll (&pfd, 1, 10000), 1);
    assert_int_equal (recv (fd, text, sizeof (text), 0), 3);
}

static int take_caller (int listener)
{
    struct pollfd pfd = { .fd = listener, .events = POLLIN };

    assert_int_equal (poll (&pfd, 1, 10000), 1);
    return accept (listener, NULL, NULL);
}

/* Words, and an answer. Was nobody there to be accepted before the words? And how many packets has
 * sent who spoke first? */
static bool converse (unsigned int *sent)
{
    struct sockaddr_in in;
    int listener = listener_at (&in), end[2];
    bool hidden;

    end[0] = socket (AF_INET, SOCK_STREAM, 0);
    connection_acknowledge_late (end[0]);
    assert_int_equal (connect (end[0], (struct sockaddr *)&in, sizeof (in)), 0);
    end[1] = accept (listener, NULL, NULL);
    hidden = end[1] < 0 && errno == EAGAIN;
    connection_acknowledge_late (end[0]);
    assert_int_equal (send (end[0], "who", 3, 0), 3);
    if (end[1] < 0)
        end[1] = take_caller (listener);
    read_words (end[1]);
    assert_int_equal (send (end[1], "you", 3, 0), 3);
    read_words (end[0]);
    *sent = packets (end[0]);
    close (end[0]);
    close (end[1]);
    close (listener);
    return hidden;
}

TEST (who_speaks_first_opens_the_connection_with_its_words)
{
    unsigned int sent = 0;
    bool hidden = false;

    for (int i = 0; i < ATTEMPTS && !(hidden && sent == 2); i++)
        hidden = converse (&sent);
    /* The call and the words, and no acknowledgement of the answer. */
    assert_true (hidden);
    assert_int_equal (sent, 2);
}

TEST (what_is_acknowledged_soon_is_acknowledged_at_once)
{
    unsigned int before = 0, after = 0;

    for (int i = 0; i < ATTEMPTS && after != before + 1; i++) {
        int end[2];

        make_pair (end);
        connection_acknowledge_late (end[1]);
        connection_acknowledge_soon (end[1]);
        before = packets (end[1]);
        assert_int_equal (send (end[0], "who", 3, 0), 3);
        after = packets (end[1]);
        close (end[0]);
        close (end[1]);
    }
    assert_int_equal (after, before + 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (what_was_said_before_the_close_is_read_and_then_the_connection_is_reset),
        cmocka_unit_test (a_quiet_connection_is_looked_after),
        cmocka_unit_test (who_speaks_first_opens_the_connection_with_its_words),
        cmocka_unit_test (what_is_acknowledged_soon_is_acknowledged_at_once),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
