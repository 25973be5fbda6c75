/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Real attempts to connect, through a device behind which is nothing, in a network namespace of the test.
 */
#include "config.h"

#include "clock.h"
#include "netns.h"
#include "sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/address.h"
#include "supervise/attempts.h"

/* Packets to 10.1.0.0/24 and fd01::/64 vanish, as behind a firewall, until the device is closed. */
static void enter_black_hole (void)
{
    static int hole = -1;

    if (hole >= 0)
        close (hole);
    netns_enter ();
    hole = netns_device ("hole", true);
    assert_true (netns_ip ("link set lo up"));
    assert_true (netns_ip ("link set hole up"));
    assert_true (netns_ip ("addr add 10.1.0.1/24 dev hole"));
    assert_true (netns_ip ("addr add fd01::1/64 dev hole nodad"));
}

/* A socket that tries to connect. A dual-stack one names an IPv4 address as "::ffff:10.1.0.2". */
static int attempt (const char *address, int port)
{
    struct sockaddr_storage to = { .ss_family = strchr (address, ':') ? AF_INET6 : AF_INET };
    struct sockaddr_in *in = (struct sockaddr_in *)&to;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&to;
    bool six = to.ss_family == AF_INET6;
    int fd = socket (to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_true (fd >= 0);
    assert_int_equal (
        inet_pton (to.ss_family, address, six ? (void *)&in6->sin6_addr : (void *)&in->sin_addr), 1);
    *(six ? &in6->sin6_port : &in->sin_port) = htons ((uint16_t)port);
    assert_int_equal (connect (fd, (struct sockaddr *)&to, six ? sizeof (*in6) : sizeof (*in)), -1);
    return fd;
}

/* So many looks, five seconds apart. The last one's result. */
static bool look (struct attempts *attempts, int looks)
{
    bool unanswered = false;

    for (int i = 0; i < looks; i++) {
        now_ms += 4999;
        assert_false (attempts_look (attempts));
        now_ms++;
        unanswered = attempts_look (attempts);
        assert_int_equal (attempts->due.at_ms, now_ms + 5000);
    }
    return unanswered;
}

static void check_unanswered (const struct attempts *attempts, int count, const char *address, int port)
{
    struct signs_address to[SIGNS_MOST_UNANSWERED];
    struct address_text room;

    assert_int_equal (attempts_unanswered (attempts, to), count);
    if (count == 0)
        return;
    assert_string_equal (address_print (&to[count - 1].address, &room), address);
    assert_int_equal (to[count - 1].port, port);
}

TEST (an_address_that_does_not_answer_at_any_look_of_a_minute_is_told)
{
    static const char *const row[][2] = { { "10.1.0.2", "10.1.0.2" },
                                          { "::ffff:10.1.0.2", "10.1.0.2" },
                                          { "fd01::2", "fd01::2" } };

    enter_black_hole ();
    for (size_t i = 0; i < COUNT (row); i++) {
        struct attempts attempts;
        int fd = attempt (row[i][0], 40001);

        attempts_begin (&attempts);
        assert_false (look (&attempts, 12));
        check_unanswered (&attempts, 0, NULL, 0);
        assert_true (look (&attempts, 1));
        check_unanswered (&attempts, 1, row[i][1], 40001);
        /* Until it was told. */
        assert_true (look (&attempts, 1));
        attempts.due = deadline_never ();
        now_ms += 10000000;
        assert_false (attempts_look (&attempts));
        close (fd);
    }
}

/* As gRPC does every 20 s. */
TEST (an_attempt_that_is_begun_anew_is_the_same)
{
    struct attempts attempts;
    int fd;

    enter_black_hole ();
    fd = attempt ("10.1.0.2", 40001);
    attempts_begin (&attempts);
    for (int i = 0; i < 3; i++) {
        assert_false (look (&attempts, 4));
        close (fd);
        assert_false (look (&attempts, 1));
        fd = attempt ("10.1.0.2", 40001);
    }
    assert_true (look (&attempts, 1));
    check_unanswered (&attempts, 1, "10.1.0.2", 40001);
    /* Answered, that is, not seen twice. */
    close (fd);
    look (&attempts, 1);
    now_ms += 5000;
    assert_false (attempts_look (&attempts));
    check_unanswered (&attempts, 0, NULL, 0);
}

TEST (what_is_refused_or_accepted_or_another_address_is_not_told)
{
    struct attempts attempts;
    int port = 0, server, client;

    enter_black_hole ();
    server = listening_socket ("127.0.0.1", &port, 1);
    client = connected_to (port);
    attempts_begin (&attempts);
    for (int i = 0; i < 20; i++) {
        int refused = attempt ("127.0.0.1", 9), other = attempt ("10.1.0.2", 40000 + i);

        now_ms = attempts.due.at_ms;
        assert_false (attempts_look (&attempts));
        close (refused);
        close (other);
    }
    close (server);
    close (client);
}

/* Most lives never wait for a connection. */
TEST (without_an_attempt_pauses_grow)
{
    static const int pause_ms[] = { 5000, 10000, 20000, 40000, 80000, 160000, 320000, 640000, 640000 };
    struct attempts attempts;

    enter_black_hole ();
    for (int life = 0; life < 2; life++) {
        attempts_begin (&attempts);
        for (size_t i = 0; i < COUNT (pause_ms); i++) {
            assert_int_equal (attempts.due.at_ms, now_ms + pause_ms[i]);
            now_ms += pause_ms[i];
            assert_false (attempts_look (&attempts));
        }
    }
}

/* Another user's, as of a service of the node. */
TEST (other_users_attempts_do_not_count)
{
    struct attempts attempts;
    int fd;

    enter_black_hole ();
    assert_int_equal (seteuid (65534), 0);
    fd = attempt ("10.1.0.2", 40001);
    assert_int_equal (seteuid (0), 0);
    attempts_begin (&attempts);
    now_ms = attempts.due.at_ms;
    attempts_look (&attempts);
    assert_int_equal (attempts.count, 0);
    close (fd);
}

TEST (more_attempts_than_there_is_room_for_are_no_problem)
{
    struct attempts attempts;
    int fd[ATTEMPTS_MOST + 50];

    enter_black_hole ();
    for (size_t i = 0; i < COUNT (fd); i++)
        fd[i] = attempt ("10.1.0.2", 40000 + (int)i);
    attempts_begin (&attempts);
    assert_true (look (&attempts, 13));
    assert_int_equal (attempts.count, ATTEMPTS_MOST);
    for (size_t i = 0; i < COUNT (fd); i++)
        close (fd[i]);
}
