/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How long a supervisor waits for the answer to its exit report. Everything else about the connection
 * is tested with tf-supervise itself (tests/fault/uplink.c).
 */
#include "config.h"

#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "protocol/order.h"
#include "supervise/uplink.h"

#define SERVER_TOKEN "fedcba9876543210fedcba9876543210"

/* Time passes when a test says so. */
static int64_t now_ms = 1000;

int __wrap_clock_gettime (clockid_t clock, struct timespec *now);

int __wrap_clock_gettime (clockid_t clock __attribute__ ((unused)), struct timespec *now)
{
    *now = (struct timespec){ .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 };
    return 0;
}

static int listener, connection;        /* the rendezvous' ends */
static int waiting[4];                  /* connections that fill the queue of the listener */
static struct supervisor_config config;
static struct uplink *uplink;

static int set_up (void **unused __attribute__ ((unused)))
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t length = sizeof (at);
    int fd = socket (AF_INET, SOCK_STREAM, 0);

    listener = socket (AF_INET, SOCK_STREAM, 0);
    if (listen (listener, 10) < 0 || getsockname (listener, (struct sockaddr *)&at, &length) < 0)
        return -1;
    at.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    config = (struct supervisor_config){ .node = "n1",
                                         .step = "12.0",
                                         .port = ntohs (at.sin_port),
                                         .token = "0123456789abcdef0123456789abcdef",
                                         .server_token = SERVER_TOKEN };
    if (address_parse (&config.address, "127.0.0.1") < 0
        || connect (fd, (struct sockaddr *)&at, sizeof (at)) < 0)
        return -1;
    connection = accept (listener, NULL, NULL);
    uplink = uplink_create (fd, &config, NULL);
    return uplink ? 0 : -1;
}

static int tear_down (void **unused __attribute__ ((unused)))
{
    uplink_destroy (uplink);
    close (listener);
    close (connection);
    return 0;
}

EACH_TEST (set_up, tear_down)

static void report (void)
{
    const struct exit_report exit_3 = { .kind = EXIT_REPORT_EXIT, .number = 3 };
    const struct life_report life = { .life = -1 };
    const struct failure_text none = { 0 };

    uplink_report (uplink, &exit_3, &life, &none);
}

/* What tf-supervise does when something has happened, or so many seconds have passed. */
static enum uplink_event serve (int seconds)
{
    struct pollfd pfd;

    now_ms += seconds * INT64_C (1000);
    uplink_poll (uplink, &pfd);
    poll (&pfd, 1, 0);
    return uplink_serve (uplink, pfd.fd < 0 ? 0 : pfd.revents);
}

/* The connection breaks, and a new one is made. */
static void break_connection (void)
{
    close (connection);
    assert_int_equal (serve (0), UPLINK_NOTHING);
    assert_int_equal (serve (1), UPLINK_NOTHING);   /* the pause is over */
    assert_int_equal (serve (0), UPLINK_NOTHING);
    connection = accept (listener, NULL, NULL);
}

static void order (enum order order)
{
    struct frame *frame = order_encode (order, SERVER_TOKEN);

    assert_int_equal (frame_send (frame, connection, NULL), 0);
    frame_destroy (frame);
}

TEST (an_answer_may_take_minutes_as_long_as_the_connection_stands)
{
    report ();
    for (int i = 0; i < 9; i++)
        assert_int_equal (serve (60), UPLINK_NOTHING);
    order (ORDER_EXIT);
    assert_int_equal (serve (0), UPLINK_EXIT);
}

/* On a new connection too, which the kernel accepts even if the rendezvous stands still. */
TEST (a_new_connection_may_take_minutes_too)
{
    assert_int_equal (serve (1000), UPLINK_NOTHING);
    report ();
    break_connection ();
    for (int i = 0; i < 9; i++)
        assert_int_equal (serve (60), UPLINK_NOTHING);
    break_connection ();
    assert_int_equal (serve (60), UPLINK_NOTHING);
    order (ORDER_EXIT);
    assert_int_equal (serve (0), UPLINK_EXIT);
}

/* Without a reset, which would discard a report that has not arrived yet. */
TEST (without_an_answer_for_ten_minutes_the_report_is_given_up)
{
    char frame[4096];

    report ();
    assert_int_equal (serve (599), UPLINK_NOTHING);
    assert_int_equal (serve (1), UPLINK_NO_ANSWER);
    uplink_destroy (uplink);
    uplink = NULL;
    assert_true (recv (connection, frame, sizeof (frame), 0) > 0);
    assert_int_equal (recv (connection, frame, sizeof (frame), 0), 0);
}

/* The rendezvous has closed it. */
TEST (connections_that_do_not_stand_are_tried_for_a_minute)
{
    int seconds = 0;

    report ();
    for (; seconds < 200; seconds++) {
        enum uplink_event event = serve (1);
        struct pollfd pfd = { .fd = listener, .events = POLLIN };

        if (event == UPLINK_NO_ANSWER)
            break;
        close (connection);
        if (poll (&pfd, 1, 0) == 1)
            connection = accept (listener, NULL, NULL);
    }
    assert_between (seconds, 58, 75);
}

/* The kernel drops what arrives on the listener: its queue is full. */
static void vanish (void)
{
    struct sockaddr_storage at;
    socklen_t length = address_sockaddr (&config.address, config.port, &at);

    assert_int_equal (listen (listener, 0), 0);
    for (size_t i = 0; i < COUNT (waiting); i++) {
        waiting[i] = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect (waiting[i], (struct sockaddr *)&at, length);
    }
    close (connection);
}

static int seconds_until_no_answer (void)
{
    int seconds = 0;

    while (seconds < 2000 && serve (1) != UPLINK_NO_ANSWER)
        seconds++;
    for (size_t i = 0; i < COUNT (waiting); i++)
        close (waiting[i]);
    return seconds;
}

TEST (a_report_is_given_up_when_packets_vanish_for_a_minute)
{
    report ();
    vanish ();
    assert_between (seconds_until_no_answer (), 58, 62);
}

/* The rendezvous waits for five minutes, too. */
TEST (the_next_life_is_given_up_when_packets_vanish_for_six_minutes)
{
    report ();
    order (ORDER_WAIT);
    assert_int_equal (serve (0), UPLINK_NOTHING);
    assert_true (uplink_is_waiting (uplink));
    assert_int_equal (serve (86400), UPLINK_NOTHING);
    vanish ();
    assert_between (seconds_until_no_answer (), 358, 362);
}

TEST (a_refused_connection_is_the_end_of_the_rendezvous)
{
    enum uplink_event event = UPLINK_NOTHING;

    report ();
    close (listener);
    close (connection);
    for (int i = 0; i < 5 && event == UPLINK_NOTHING; i++)
        event = serve (1);
    assert_int_equal (event, UPLINK_GONE);
}

/* Silence. */

/* So many seconds pass, one by one; how many it takes until this event, or 0. */
static int seconds_to (enum uplink_event event, int most)
{
    for (int i = 1; i <= most; i++)
        if (serve (1) == event)
            return i;
    return 0;
}

/* No TCP connection leads to a multicast address. */
static void cut_off (void)
{
    assert_int_equal (address_parse (&config.address, "224.0.0.1"), 0);
    close (connection);
}

TEST (with_spares_a_task_that_is_cut_off_for_so_long_is_told_once)
{
    config.lost_after = 60;
    assert_int_equal (seconds_to (UPLINK_CUT_OFF, 300), 0);
    cut_off ();
    assert_between (seconds_to (UPLINK_CUT_OFF, 300), 60, 61);
    assert_int_equal (seconds_to (UPLINK_CUT_OFF, 300), 0);
    assert_int_equal (address_parse (&config.address, "127.0.0.1"), 0);
    for (int i = 0; i < 20; i++)
        serve (1);
    connection = accept (listener, NULL, NULL);
    assert_int_equal (seconds_to (UPLINK_CUT_OFF, 300), 0);
    cut_off ();
    assert_between (seconds_to (UPLINK_CUT_OFF, 300), 60, 61);
}

TEST (one_that_is_cut_off_has_an_hour_for_its_report)
{
    config.lost_after = 60;
    cut_off ();
    assert_between (seconds_to (UPLINK_CUT_OFF, 300), 60, 61);
    report ();
    assert_between (seconds_to (UPLINK_NO_ANSWER, 5000), 3598, 3602);
}

TEST (not_if_it_is_back_before)
{
    config.lost_after = 60;
    cut_off ();
    assert_int_equal (seconds_to (UPLINK_CUT_OFF, 50), 0);
    assert_int_equal (address_parse (&config.address, "127.0.0.1"), 0);
    assert_int_equal (seconds_to (UPLINK_CUT_OFF, 300), 0);
    connection = accept (listener, NULL, NULL);
}

/* The rendezvous' host is there, and the rendezvous has ended. */
TEST (nor_if_connections_are_refused)
{
    config.lost_after = 60;
    close (listener);
    close (connection);
    assert_true (seconds_to (UPLINK_GONE, 300) > 0);
    assert_int_equal (seconds_to (UPLINK_CUT_OFF, 300), 0);
    listener = connection = -1;
}

/* So it is if this task has registered again, and others had got the last spare before. */
TEST (an_order_may_have_an_answer_also_where_no_spare_is_left)
{
    struct frame *frame = order_encode_restart (1, SERVER_TOKEN);
    char role[5000] = "";
    int pair[2];

    config.restart.times = 1;
    uplink_destroy (uplink);
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_non_null (uplink = uplink_create (pair[0], &config, NULL));
    report ();
    memset (role, 'w', sizeof (role) - 1);
    frame_add_text (frame, "SLURM_TF_ROLE", role);
    assert_int_equal (frame_send (frame, pair[1], NULL), 0);
    frame_destroy (frame);
    assert_int_equal (serve (0), UPLINK_RESTART);
    assert_non_null (uplink_answer (uplink));
    close (pair[1]);
}

TEST (without_spares_a_task_is_never_cut_off)
{
    cut_off ();
    assert_int_equal (seconds_to (UPLINK_CUT_OFF, 1000), 0);
}
