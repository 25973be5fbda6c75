/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a supervisor sees of its connection to the rendezvous; supervise.golden has what it concludes.
 * Everything else about the connection is tested with tf-supervise itself (tests/fault/uplink.c).
 */
#include "config.h"

#include "clock.h"
#include "messages.h"
#include "sockets.h"

#include "protocol/goal.h"
#include "supervise/uplink.h"

static int listener, connection;        /* the rendezvous' ends */
static struct supervisor_config config;
static struct uplink *uplink;

static int set_up (void **unused __attribute__ ((unused)))
{
    int port = 0, fd;

    listener = listening_socket ("127.0.0.1", &port, 10);
    fd = connected_to (port);
    config = (struct supervisor_config){
        .node = "n1", .step = "12.0", .port = port, .token = TOKEN, .server_token = SERVER_TOKEN
    };
    if (address_parse (&config.address, "127.0.0.1") < 0)
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
    const struct status status = { .ended = true,
                                   .report = { .kind = EXIT_REPORT_EXIT, .number = 3 },
                                   .life = { .number = 1, .life = -1 } };

    uplink_tell (uplink, &status);
}

static void tell_status (void)
{
    const struct status status = { .ended = false };

    uplink_tell (uplink, &status);
}

/* What tf-supervise does when something has happened, or so many seconds have passed. */
static enum uplink_event serve (int seconds)
{
    enum uplink_event event;
    struct pollfd pfd;

    now_ms += seconds * INT64_C (1000);
    uplink_poll (uplink, &pfd);
    poll (&pfd, 1, 0);
    event = uplink_serve (uplink, pfd.fd < 0 ? 0 : pfd.revents);
    if (event == UPLINK_CONNECTED)
        tell_status ();
    return event;
}

static void tell (const char *cluster)
{
    const struct goal goal = GOAL_FIRST;
    struct frame *frame = goal_encode (&goal, SERVER_TOKEN);

    if (cluster)
        frame_add (frame, "SLURM_TF_ROLE", "worker");
    if (cluster)
        frame_add (frame, "TF_CONFIG", "%s", cluster);
    assert_int_equal (frame_send (frame, connection, NULL), 0);
    frame_destroy (frame);
}

static struct link see (void)
{
    return uplink_link (uplink);
}

/* How many milliseconds ago it was heard. */
static int64_t heard_ago (void)
{
    return now_ms - see ().heard;
}

TEST (a_connection_on_which_the_task_registered_stands)
{
    assert_true (see ().stands);
    assert_false (see ().refused);
    assert_int_equal (serve (1000), UPLINK_NOTHING);
    assert_int_equal (heard_ago (), 0);
    assert_int_equal (see ().since, 1000);
}

/* Of a preflight that gives a place to a spare, say: the step needs no restarts for that. */
TEST (an_answer_in_a_goal_may_be_long)
{
    char cluster[100001] = "";

    memset (cluster, 'x', sizeof (cluster) - 1);
    tell (cluster);
    for (int i = 0; i < 100 && !uplink->answer; i++)
        serve (0);
    assert_non_null (uplink->answer);
}

TEST (after_a_broken_connection_the_rendezvous_is_heard_when_it_shows_its_token)
{
    serve (1000);
    close (connection);
    serve (0);
    assert_false (see ().stands);
    serve (1);
    serve (0);
    assert_true (see ().stands);
    assert_int_equal (see ().since, now_ms);
    assert_int_equal (heard_ago (), 1000);
    connection = accept (listener, NULL, NULL);
    assert_int_equal (serve (1000), UPLINK_NOTHING);
    assert_int_equal (heard_ago (), 1001000);
    tell (NULL);
    assert_int_equal (serve (1), UPLINK_GOAL);
    assert_int_equal (heard_ago (), 0);
    serve (1000);
    assert_int_equal (heard_ago (), 0);
}

TEST (refused_is_the_last_attempt)
{
    close (listener);
    close (connection);
    for (int i = 0; i < 100; i++)
        serve (1);
    assert_true (see ().refused);
    assert_false (see ().stands);
    assert_between (heard_ago (), 99000, 100000);
    assert_int_equal (address_parse (&config.address, "224.0.0.1"), 0);
    for (int i = 0; i < 100; i++)
        serve (1);
    assert_false (see ().refused);
    listener = connection = -1;
}

/* With spares the kernel asks, and its last answer counts, not when a supervisor that was stopped reads. */
TEST (an_answer_of_the_kernel_counts_until_the_connection_breaks)
{
    config.lost_after = 60;
    assert_int_equal (serve (300), UPLINK_NOTHING);
    assert_true (heard_ago () < 1000);
    tell (NULL);
    usleep (200000);
    assert_int_equal (serve (300), UPLINK_GOAL);
    assert_between (heard_ago (), 100, 3000);
    close (connection);
    serve (0);
    assert_int_equal (address_parse (&config.address, "224.0.0.1"), 0);
    serve (300);
    assert_true (heard_ago () >= 300000);
}

/* A reset would discard a report that has not arrived yet. */
TEST (a_supervisor_that_gives_up_its_report_closes_without_a_reset)
{
    char frame[4096];

    report ();
    uplink_destroy (uplink);
    uplink = NULL;
    assert_true (recv (connection, frame, sizeof (frame), 0) > 0);
    assert_int_equal (recv (connection, frame, sizeof (frame), 0), 0);
}
