/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The end of a job. The test plays every supervisor, each on its own socket pair.
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "protocol/life_report.h"
#include "protocol/order.h"
#include "protocol/reconnect.h"
#include "rendezvous/shutdown.h"

#define SERVER_TOKEN "fedcba9876543210fedcba9876543210"
#define EXIT(code) ((struct exit_report){ EXIT_REPORT_EXIT, code, false })
#define SIGNAL(number) ((struct exit_report){ EXIT_REPORT_SIGNAL, number, false })
#define STOPPED ((struct exit_report){ EXIT_REPORT_STOPPED, 0, false })
#define MAX_TASKS 16

static struct server server;
static int supervisor[MAX_TASKS];       /* each supervisor's end of its connection */

/* Time passes when a test says so. */
static int64_t now_ms = 1000;

int __real_clock_gettime (clockid_t clock, struct timespec *now);
int __wrap_clock_gettime (clockid_t clock, struct timespec *now);

int __wrap_clock_gettime (clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_MONOTONIC)
        return __real_clock_gettime (clock, now);
    *now = (struct timespec){ .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 };
    return 0;
}

/* The next recv () fails with ETIMEDOUT. As on a real connection, the one after it shows the end. */
static bool connection_times_out;

ssize_t __real_recv (int fd, void *bytes, size_t length, int flags);
ssize_t __wrap_recv (int fd, void *bytes, size_t length, int flags);

ssize_t __wrap_recv (int fd, void *bytes, size_t length, int flags)
{
    if (!connection_times_out)
        return __real_recv (fd, bytes, length, flags);
    connection_times_out = false;
    shutdown (fd, SHUT_RDWR);
    errno = ETIMEDOUT;
    return -1;
}

/* The rendezvous' end of a new connection, of a peer that is still unauthenticated. */
static struct peer *connect_one (int *supervisors_end)
{
    struct peer *peer = calloc (1, sizeof (*peer));
    int pair[2];

    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    *supervisors_end = pair[1];
    peer->fd = pair[0];
    peer->reader.ceiling = FRAME_MAX_REGISTRATION;
    return peer;
}

/* A step on two nodes: the first half of the ranks on n1, the other ranks on n2. */
static void add_ranks (int tasks)
{
    struct address srun;
    struct errtext err = { "" };

    assert_int_equal (address_parse (&srun, "10.0.0.9"), 0);
    for (int rank = 0; rank < tasks; rank++) {
        bool second = 2 * rank >= tasks;
        struct registration r = {
            .rank = rank, .tasks = tasks, .component_tasks = tasks, .node_index = second,
            .port = 40000 + rank, .node = second ? "n2" : "n1", .step = "12.0",
        };

        snprintf (r.host.id, sizeof (r.host.id), "%s", second ? "host2" : "host1");
        assert_int_equal (address_parse (&r.address, second ? "10.0.0.2" : "10.0.0.1"), 0);
        if (step_add (server.step, &r, &srun, &err) != STEP_ADDED)
            fail_msg ("%s", err.text);
    }
}

/* srun runs under a parallel debugger. */
static bool debugged;

/* --tf-restart */
static int restarts;

/* srun has --wait. */
static bool wait_limited;

/* Start a step. Returns true if its tasks are supervised; then every supervisor is connected. */
static bool begin (const char *list, int tasks, enum stop_when when, int eval_grace)
{
    struct errtext err = { "" };

    server = (struct server){ .config = { .server_token = SERVER_TOKEN, .step = "12.0",
                                          .lists = 1, .list = { { list, false } },
                                          .stop = when, .stop_grace = 10,
                                          .eval_grace = eval_grace,
                                          .restart = { restarts, false, 60 },
                                          .wait_limited = wait_limited,
                                          .debugged = debugged } };
    assert_int_equal (step_create (&server.step, &server.config, &err), 0);
    add_ranks (tasks);
    assert_int_equal (peers_expect (&server.peers, tasks), 0);
    assert_int_equal (shutdown_begin (&server, &err), 0);
    for (int rank = 0; rank < tasks; rank++) {
        struct peer *peer = connect_one (&supervisor[rank]);

        peer->rank = rank;
        peer->state = PEER_SUPERVISED;
        server.peers.by_rank[rank] = peer;
    }
    return server.shutdown != NULL;
}

static void end (void)
{
    for (int rank = 0; rank < server.peers.ranks; rank++)
        if (supervisor[rank] >= 0)
            close (supervisor[rank]);
    server.peers.epoll = -1;
    peers_clear (&server.peers);
    shutdown_destroy (server.shutdown);
    step_destroy (server.step);
}

/* With --tf-restart. */
static bool begin_restarts_and_grace (const char *list, int tasks, int times, int eval_grace)
{
    bool supervised;

    restarts = times;
    supervised = begin (list, tasks, STOP_WHEN_AUTO, eval_grace);
    restarts = 0;
    return supervised;
}

static bool begin_restarts (const char *list, int tasks, int times)
{
    return begin_restarts_and_grace (list, tasks, times, 600);
}

/* Redirect stderr, to which the rendezvous prints, to a pipe until check_printed (). */
static int console[2], saved_stderr;

static void capture (void)
{
    saved_stderr = dup (STDERR_FILENO);
    assert_int_equal (pipe2 (console, O_NONBLOCK), 0);
    dup2 (console[1], STDERR_FILENO);
}

/* "at 14:03:11" becomes "at TIME". */
static void hide_time (char *text)
{
    static const char shape[] = " at 00:00:00, ";
    char *at = strstr (text, "first to fail: ");

    if (!at || !(at = strstr (at, " at ")))
        return;
    for (size_t i = 0; i < sizeof (shape) - 1; i++)
        assert_true (shape[i] == '0' ? at[i] >= '0' && at[i] <= '9' : at[i] == shape[i]);
    memcpy (at + 4, "TIME", 4);
    memmove (at + 8, at + 12, strlen (at + 12) + 1);
}

static void check_printed (const char *expected)
{
    char text[2048] = "";

    dup2 (saved_stderr, STDERR_FILENO);
    close (saved_stderr);
    close (console[1]);
    if (read (console[0], text, sizeof (text) - 1) < 0)
        text[0] = '\0';
    close (console[0]);
    hide_time (text);
    assert_string_equal (text, expected);
}

static void send_frame (int fd, struct frame *frame)
{
    assert_int_equal (frame_send (frame, fd, NULL), 0);
    frame_destroy (frame);
}

static void receive (int rank)
{
    shutdown_receive (&server, server.peers.by_rank[rank]);
    peers_free_closed (&server.peers);
    shutdown_check_time (&server);
}

/* A supervisor sends this exit report, and the rendezvous prints this text, or nothing (""). */
static void ended (int rank, struct exit_report report, const char *expected)
{
    capture ();
    send_frame (supervisor[rank], exit_report_encode (&report));
    receive (rank);
    check_printed (expected);
}

/* The same in a step whose tasks may be started again; life -1: this one cannot be. */
static void died (int rank, struct exit_report report, struct life_report life, const char *expected)
{
    struct frame *frame = exit_report_encode (&report);

    capture ();
    life_report_add (frame, &life);
    send_frame (supervisor[rank], frame);
    receive (rank);
    check_printed (expected);
}

static void time_passes (int ms)
{
    now_ms += ms;
    shutdown_check_time (&server);
}

/* The next order to a supervisor: "s" stop, "x" exit, "w" wait, "r" restart, "-" none. */
static const char *next_order (int rank)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_ORDER };
    struct frame *frame;
    enum order order;
    const char *text = "-";

    if (supervisor[rank] >= 0 && frame_read (&reader, supervisor[rank], &frame, NULL) == 1) {
        assert_int_equal (order_decode (&order, frame, SERVER_TOKEN, NULL), 0);
        text = order == ORDER_STOP ? "s" : order == ORDER_EXIT ? "x" : order == ORDER_WAIT ? "w" : "r";
        frame_destroy (frame);
    }
    frame_reader_clear (&reader);
    return text;
}

/* The next order to each supervisor, in rank order. */
static void check_orders (const char *expected)
{
    char text[MAX_TASKS + 1] = "";

    for (int rank = 0; rank < server.peers.ranks; rank++)
        strcat (text, next_order (rank));
    assert_string_equal (text, expected);
}

#define FIRST "srun: error: spank_tf: step 12.0: first to fail: "

TEST (when_the_chief_ends_the_other_tasks_are_stopped)
{
    assert_true (begin ("chief,ps,worker:2", 4, STOP_WHEN_AUTO, 900));
    check_orders ("----");
    ended (2, EXIT (0), "");
    check_orders ("--x-");
    ended (0, EXIT (3), "");
    check_orders ("xs-s");
    assert_false (shutdown_all_ended (server.shutdown));
    ended (1, STOPPED, "");
    check_orders ("-x--");
    ended (3, STOPPED, FIRST "chief 0 on n1 at TIME, exit 3\n");
    check_orders ("---x");
    assert_true (shutdown_all_ended (server.shutdown));
    end ();
}

TEST (tasks_that_end_by_themselves_are_not_supervised)
{
    assert_false (begin ("worker:2", 2, STOP_WHEN_AUTO, 900));
    end ();
    assert_false (begin ("ps,worker", 2, STOP_WHEN_NEVER, 900));
    end ();
}

TEST (the_ranks_that_only_serve_are_known_before_their_answers)
{
    begin ("chief,ps,worker,evaluator", 4, STOP_WHEN_AUTO, 900);
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal (step_roster (server.step)->member[rank].serves, rank == 1 || rank == 2);
    end ();
}

TEST (under_a_parallel_debugger_no_task_is_supervised_and_that_is_printed)
{
    debugged = true;
    capture ();
    assert_false (begin ("ps,worker", 2, STOP_WHEN_AUTO, 900));
    check_printed ("srun: spank_tf: step 12.0: under a parallel debugger no task is stopped when "
                   "the work is done, and the ends of tasks are not shown\n");
    end ();
    capture ();
    assert_false (begin ("worker:2", 2, STOP_WHEN_AUTO, 900));
    check_printed ("");
    end ();
    capture ();
    assert_false (begin_restarts ("worker:2", 2, 1));
    check_printed ("srun: spank_tf: step 12.0: under a parallel debugger no task is stopped when "
                   "the work is done, or started again, and the ends of tasks are not shown\n");
    end ();
    debugged = false;
}

TEST (a_ps_that_failed_is_named)
{
    begin ("ps:2,worker:2", 4, STOP_WHEN_AUTO, 900);
    ended (1, SIGNAL (9),
           "srun: error: spank_tf: step 12.0: rank 1 (ps 1) on n1 failed, signal 9; its workers "
           "would wait for it forever and are stopped\n");
    check_orders ("sxss");
    ended (0, EXIT (1), "");
    end ();
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    ended (0, EXIT (2),
           "srun: error: spank_tf: step 12.0: rank 0 (ps 0) on n1 failed, exit 2; its workers "
           "would wait for it forever and are stopped\n");
    end ();
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    ended (0, EXIT (0), "");
    check_orders ("x--");
    end ();
}

TEST (a_ps_that_ended_by_sigterm_did_not_fail)
{
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    ended (0, SIGNAL (15), "srun: spank_tf: step 12.0: rank 0 (ps 0) on n1 has ended, signal 15; "
           "the others are stopped\n");
    check_orders ("xss");
    end ();
}

TEST (an_evaluators_grace_begins_when_the_job_is_over)
{
    begin ("chief,ps,worker,evaluator", 4, STOP_WHEN_AUTO, 1);
    assert_int_equal (deadline_left_ms (shutdown_next (&server)), -1);
    ended (0, EXIT (0), "srun: spank_tf: step 12.0: the training is over; waiting up to 1 s for "
           "rank 3 (evaluator 0) on n2\n");
    check_orders ("xss-");
    assert_int_equal (deadline_left_ms (shutdown_next (&server)), 1000);
    time_passes (1000);
    check_orders ("---s");
    assert_int_equal (deadline_left_ms (shutdown_next (&server)), -1);
    ended (3, STOPPED, "");
    check_orders ("---x");
    end ();
}

TEST (one_line_names_the_first_task_that_gets_the_grace)
{
    begin ("chief,ps,worker,tester:2,evaluator", 6, STOP_WHEN_AUTO, 900);
    ended (3, EXIT (0), "");
    ended (0, EXIT (0), "srun: spank_tf: step 12.0: the training is over; waiting up to 900 s for "
           "rank 4 (tester 1) on n2 and 1 more\n");
    check_orders ("xssx--");
    end ();
}

TEST (a_task_that_has_ended_gets_no_grace)
{
    begin ("chief,ps,worker,evaluator", 4, STOP_WHEN_AUTO, 900);
    ended (3, EXIT (0), "");
    ended (0, EXIT (0), "");
    check_orders ("xssx");
    end ();
}

TEST (without_a_grace_an_evaluator_is_stopped_at_once)
{
    begin ("chief,ps,worker,evaluator", 4, STOP_WHEN_AUTO, 0);
    ended (0, EXIT (0), "");
    check_orders ("xsss");
    end ();
}

TEST (a_second_exit_report_is_ignored_and_the_table_precedes_the_last_order)
{
    begin ("ps,worker", 2, STOP_WHEN_AUTO, 900);
    server.config.show = true;
    ended (1, EXIT (0), "");
    check_orders ("sx");
    ended (1, SIGNAL (11), "");
    assert_false (shutdown_all_ended (server.shutdown));
    ended (0, STOPPED,
           "spank_tf: step 12.0: how its tasks ended\n"
           "  rank  role      end\n"
           "     0  ps 0      stopped\n"
           "     1  worker 0  exit 0\n");
    ended (0, EXIT (1), "");
    check_orders ("xx");
    assert_true (shutdown_all_ended (server.shutdown));
    end ();
}

TEST (the_table_has_every_rank)
{
    begin ("ps,worker:10,evaluator", 12, STOP_WHEN_AUTO, 900);
    server.config.show = true;
    for (int rank = 1; rank < 8; rank++)
        ended (rank, EXIT (0), "");
    ended (8, EXIT (255), "");
    ended (9, SIGNAL (11), "");
    ended (11, EXIT (0), "");
    ended (10, EXIT (0), "");
    ended (0, STOPPED,
           "spank_tf: step 12.0: how its tasks ended\n"
           "  rank  role         end\n"
           "     0  ps 0         stopped\n"
           "     1  worker 0     exit 0\n"
           "     2  worker 1     exit 0\n"
           "     3  worker 2     exit 0\n"
           "     4  worker 3     exit 0\n"
           "     5  worker 4     exit 0\n"
           "     6  worker 5     exit 0\n"
           "     7  worker 6     exit 0\n"
           "     8  worker 7     exit 255\n"
           "     9  worker 8     signal 11\n"
           "    10  worker 9     exit 0\n"
           "    11  evaluator 0  exit 0\n"
           FIRST "worker 7 on n2 at TIME, exit 255\n");
    end ();
}

TEST (the_first_failure_is_named_with_its_log_file)
{
    begin ("chief,ps,worker:2", 4, STOP_WHEN_AUTO, 900);
    assert_non_null (step_roster (server.step)->member[3].log_dir = strdup ("/scratch/logs"));
    ended (2, EXIT (0), "");
    ended (3, ((struct exit_report){ EXIT_REPORT_SIGNAL, 9, true }), "");
    ended (0, EXIT (1), "");
    ended (1, STOPPED, FIRST "worker 1 on n2 at TIME, signal 9 (out of memory); its log is "
           "/scratch/logs/worker1.log\n");
    end ();
}

TEST (without_a_failure_none_is_named)
{
    begin ("chief,ps,worker", 3, STOP_WHEN_AUTO, 900);
    ended (2, EXIT (0), "");
    ended (0, EXIT (0), "");
    ended (1, STOPPED, "");
    end ();
}

#define LOST "srun: error: spank_tf: step 12.0: these tasks count as ended, because the " \
    "connections to their supervisors are lost: "

/* The supervisor's host closes the connection, because the supervisor was killed. */
static void lose (int rank)
{
    close (supervisor[rank]);
    supervisor[rank] = -1;
    receive (rank);
}

/* The connection is reset: so it is if a Unix socket is closed with data that was not read. */
static void reset (int rank)
{
    assert_int_equal (send (server.peers.by_rank[rank]->fd, "", 1, 0), 1);
    lose (rank);
}

/* Wait for shutdown_next (), when the rendezvous prints this text, or nothing. */
static void await_next (const char *expected)
{
    assert_true (deadline_left_ms (shutdown_next (&server)) >= 0);
    capture ();
    time_passes (deadline_left_ms (shutdown_next (&server)));
    check_printed (expected);
}

static void reconnect (int rank)
{
    const struct reconnect reconnect = { .token = "t", .node = "n2", .rank = rank };
    struct frame *frame = reconnect_encode (&reconnect);
    struct peer *peer = connect_one (&supervisor[rank]);

    server.peers.oldest = server.peers.newest = peer;
    server.peers.unauthenticated = 1;
    assert_true (shutdown_reconnect (&server, peer, frame));
    frame_destroy (frame);
    shutdown_check_time (&server);
}

/* If a supervisor is killed, the kernel kills its task, and no exit report is sent. */
TEST (a_task_whose_supervisor_is_killed_counts_as_ended_after_ten_seconds)
{
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    ended (1, EXIT (0), "");
    lose (2);
    check_orders ("-x-");
    assert_int_equal (deadline_left_ms (shutdown_next (&server)), 10000);
    await_next (LOST "rank 2 (worker 1) on n2\n");
    check_orders ("s--");
    end ();
}

/* A process that is killed with data that it has not read sends a reset, and so may the network. */
TEST (a_task_whose_connection_is_reset_counts_as_ended_after_a_minute)
{
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    server.config.show = true;
    ended (1, EXIT (0), "");
    reset (2);
    assert_int_equal (deadline_left_ms (shutdown_next (&server)), 60000);
    check_orders ("-x-");
    await_next (LOST "rank 2 (worker 1) on n2\n");
    check_orders ("s--");
    ended (0, STOPPED,
           "spank_tf: step 12.0: how its tasks ended\n"
           "  rank  role      end\n"
           "     0  ps 0      stopped\n"
           "     1  worker 0  exit 0\n"
           "     2  worker 1  lost\n"
           FIRST "worker 1 on n2 at TIME, lost\n");
    end ();
}

/* The others fail because it is lost, and before it counts as ended. */
TEST (a_lost_task_failed_when_its_connection_was_lost)
{
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    reset (2);
    ended (1, EXIT (1), "");
    await_next (LOST "rank 2 (worker 1) on n2\n");
    ended (0, STOPPED, FIRST "worker 1 on n2 at TIME, lost\n");
    end ();
}

/* A supervisor may need 100 s to notice that the network broke its connection, and to return. */
TEST (a_task_whose_connection_times_out_counts_as_ended_after_five_minutes)
{
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    ended (1, EXIT (0), "");
    connection_times_out = true;
    receive (2);
    assert_int_equal (deadline_left_ms (shutdown_next (&server)), 300000);
    check_orders ("-x-");
    await_next (LOST "rank 2 (worker 1) on n2\n");
    check_orders ("s--");
    end ();
}

TEST (an_order_that_cannot_be_sent_starts_the_timer_too)
{
    begin ("chief,ps,worker", 3, STOP_WHEN_AUTO, 900);
    close (supervisor[1]);
    supervisor[1] = -1;
    ended (0, EXIT (0), "");
    check_orders ("x-s");
    await_next (LOST "rank 1 (ps 0) on n1\n");
    ended (2, STOPPED, FIRST "ps 0 on n1 at TIME, lost\n");
    assert_true (shutdown_all_ended (server.shutdown));
    end ();
}

TEST (a_ps_that_is_lost_ends_the_job)
{
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    reset (0);
    await_next (LOST "rank 0 (ps 0) on n1\n"
                "srun: error: spank_tf: step 12.0: without rank 0 (ps 0) on n1 its workers would "
                "wait forever and are stopped\n");
    check_orders ("-ss");
    end ();
}

/* The others' ends alone must not end the job of a worker that goes on. */
TEST (a_task_that_returns_after_it_counted_as_ended_has_not_ended)
{
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    reset (2);
    await_next (LOST "rank 2 (worker 1) on n2\n");
    reconnect (2);
    ended (1, EXIT (0), "");
    check_orders ("-x-");
    assert_false (shutdown_all_ended (server.shutdown));
    ended (2, EXIT (0), "");
    check_orders ("s-x");
    ended (0, STOPPED, "");
    assert_true (shutdown_all_ended (server.shutdown));
    end ();
}

TEST (a_task_that_returns_after_the_end_of_the_job_is_stopped)
{
    begin ("ps,worker:2", 3, STOP_WHEN_AUTO, 900);
    reset (2);
    ended (1, EXIT (0), "");
    await_next (LOST "rank 2 (worker 1) on n2\n");
    check_orders ("sx-");
    reconnect (2);
    check_orders ("--s");
    end ();
}

TEST (a_supervisor_that_reconnects_receives_its_order_again)
{
    begin ("chief,ps,worker", 3, STOP_WHEN_AUTO, 900);
    ended (0, EXIT (0), "");
    check_orders ("xss");
    lose (2);
    reconnect (2);
    check_orders ("--s");
    time_passes (10000);
    ended (2, STOPPED, "");
    ended (1, STOPPED, "");
    check_orders ("-xx");
    assert_true (shutdown_all_ended (server.shutdown));
    end ();
}

/* Restarts. */

static const struct exit_report killed = { EXIT_REPORT_SIGNAL, 9, false };
static const struct exit_report success = { EXIT_REPORT_EXIT, 0, false };
static const struct exit_report saved = { EXIT_REPORT_EXIT, 42, false };
static const struct exit_report failure = { EXIT_REPORT_EXIT, 1, false };
static const struct exit_report stopped = { EXIT_REPORT_STOPPED, 0, false };

static void await_restart (void)
{
    int left_ms = deadline_left_ms (shutdown_next (&server));

    time_passes (left_ms < 0 ? 0 : left_ms);
}

#define STEP "srun: spank_tf: step 12.0: "

TEST (a_worker_of_a_chief_is_started_again_alone_as_often_as_allowed)
{
    assert_true (begin_restarts ("chief,ps,worker:2", 4, 2));
    died (2, killed, (struct life_report){ 0, NULL, false },
          STEP "rank 2 (worker 0) on n2 has ended, signal 9; it is started again in 1 s "
          "(restarts left: 1)\n");
    check_orders ("--w-");
    await_restart ();
    check_orders ("--r-");
    died (2, killed, (struct life_report){ 1, NULL, false },
          STEP "rank 2 (worker 0) on n2 has ended, signal 9; it is started again in 2 s "
          "(restarts left: 0)\n");
    check_orders ("--w-");
    await_restart ();
    check_orders ("--r-");
    died (2, killed, (struct life_report){ 2, NULL, false },
          STEP "rank 2 (worker 0) on n2 has ended, signal 9; no restart is left\n");
    check_orders ("--x-");
    end ();
}

TEST (when_a_ps_fails_all_are_stopped_and_then_all_are_started_again)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("chief,ps,worker,evaluator", 4, 1));
    died (1, killed, first, STEP "rank 1 (ps 0) on n1 has ended, signal 9; all tasks are stopped, and "
          "started again after 1 s (restarts left: 0)\n");
    check_orders ("sws-");
    died (0, stopped, first, "");
    await_restart ();
    check_orders ("w---");
    died (2, killed, first, "");
    check_orders ("--w-");
    await_restart ();
    check_orders ("rrr-");
    end ();
}

TEST (a_task_that_ended_with_0_takes_part_in_a_restart_of_all)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("worker:2", 2, 1));
    died (0, success, first, "");
    check_orders ("w-");
    died (1, killed, first, STEP "rank 1 (worker 1) on n2 has ended, signal 9; all tasks are stopped, "
          "and started again after 1 s (restarts left: 0)\n");
    check_orders ("-w");
    await_restart ();
    check_orders ("rr");
    end ();
}

TEST (a_task_that_waits_for_its_next_life_when_the_work_is_done_is_stopped)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("chief,ps,worker:2", 4, 2));
    died (2, killed, first, STEP "rank 2 (worker 0) on n2 has ended, signal 9; it is started again in "
          "1 s (restarts left: 1)\n");
    check_orders ("--w-");
    died (0, success, first, "");
    check_orders ("wsss");
    check_orders ("x---");
    end ();
}

#define GRACE(seconds, who) STEP "the training is over; waiting up to " #seconds " s for " who "\n"

TEST (during_an_evaluators_grace_it_and_what_is_beside_the_cluster_are_started_again)
{
    const struct life_report first = { 0, NULL, false }, second = { 1, NULL, false };

    assert_true (begin_restarts_and_grace ("worker,ps,evaluator,+data", 4, 2, 600));
    died (0, success, first, GRACE (600, "rank 2 (evaluator 0) on n2"));
    check_orders ("ws--");
    check_orders ("x---");
    died (2, killed, first, STEP "rank 2 (evaluator 0) on n2 has ended, signal 9; it is started again in "
          "1 s (restarts left: 1)\n");
    check_orders ("--w-");
    await_restart ();
    check_orders ("--r-");
    died (3, killed, first, STEP "rank 3 (+data 0) on n2 has ended, signal 9; it is started again in "
          "2 s (restarts left: 0)\n");
    check_orders ("---w");
    await_restart ();
    check_orders ("---r");
    died (3, failure, second, "srun: error: spank_tf: step 12.0: rank 3 (+data 0) on n2 failed, exit 1; "
          "spank_tf stops no other task\n");
    check_orders ("---x");
    died (2, success, second, "");
    check_orders ("--x-");
    end ();
}

TEST (when_the_evaluator_has_ended_what_waits_beside_the_cluster_is_stopped)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts_and_grace ("worker,ps,evaluator,+data", 4, 2, 600));
    died (3, killed, first, STEP "rank 3 (+data 0) on n2 has ended, signal 9; it is started again in "
          "1 s (restarts left: 1)\n");
    died (0, success, first, GRACE (600, "rank 2 (evaluator 0) on n2"));
    check_orders ("ws-w");
    died (2, success, first, "");
    check_orders ("x-xs");
    end ();
}

/* The pauses are 1, 2, 4, 8, 16 and 32 s. */
static void die_five_times (void)
{
    const struct life_report first = { 0, NULL, false };
    char line[256];

    for (int rank = 3; rank < 8; rank++) {
        snprintf (line, sizeof (line), STEP "rank %d (+data %d) on n%d has ended, signal 9; it is started "
                  "again in %d s (restarts left: %d)\n", rank, rank - 3, rank < 4 ? 1 : 2, 1 << (rank - 3),
                  11 - rank);
        died (rank, killed, first, line);
    }
}

TEST (what_was_started_again_in_the_grace_is_stopped_at_its_end)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts_and_grace ("worker,ps,evaluator,+data", 4, 2, 600));
    died (0, success, first, GRACE (600, "rank 2 (evaluator 0) on n2"));
    check_orders ("ws--");
    check_orders ("x---");
    died (2, killed, first, STEP "rank 2 (evaluator 0) on n2 has ended, signal 9; it is started again in "
          "1 s (restarts left: 1)\n");
    check_orders ("--w-");
    await_restart ();
    check_orders ("--r-");
    time_passes (600000);
    check_orders ("--ss");
    end ();
}

TEST (an_evaluator_whose_grace_is_shorter_than_the_pause_is_not_started_again)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts_and_grace ("worker,ps,evaluator,+data:5", 8, 9, 30));
    died (0, success, first, GRACE (30, "rank 2 (evaluator 0) on n1"));
    die_five_times ();
    check_orders ("ws-wwwww");
    died (2, killed, first, "");
    check_orders ("x-xsssss");
    end ();
    assert_true (begin_restarts_and_grace ("worker,ps,evaluator,+data:5", 8, 9, 30));
    die_five_times ();
    died (2, killed, first, STEP "rank 2 (evaluator 0) on n1 has ended, signal 9; it is started again in "
          "32 s (restarts left: 3)\n");
    died (0, success, first, "");
    check_orders ("wswwwwww");
    check_orders ("x-xsssss");
    end ();
}

TEST (with_wait_slurm_learns_of_every_end_and_a_task_that_has_ended_cannot_be_started_again)
{
    const struct life_report first = { 0, NULL, false };

    wait_limited = true;
    assert_true (begin_restarts ("worker:3", 3, 1));
    wait_limited = false;
    died (0, success, first, "");
    check_orders ("x--");
    died (1, killed, first, "srun: error: spank_tf: step 12.0: rank 1 (worker 1) on n1 has ended, signal 9, and is not started "
          "again: a task of the cluster cannot be\n");
    check_orders ("-x-");
    end ();
}

TEST (a_supervisor_waits_only_as_long_as_its_task_may_be_started_again)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("worker:2", 2, 1));
    died (0, success, first, "");
    check_orders ("w-");
    died (1, success, first, "");
    check_orders ("xx");
    end ();
    assert_true (begin_restarts ("worker:2", 2, 1));
    died (0, success, first, "");
    check_orders ("w-");
    died (1, failure, first, FIRST "worker 1 on n2 at TIME, exit 1\n");
    check_orders ("xx");
    end ();
    assert_true (begin_restarts ("worker:2", 2, 1));
    died (0, killed, first, STEP "rank 0 (worker 0) on n1 has ended, signal 9; all tasks are stopped, "
          "and started again after 1 s (restarts left: 0)\n");
    check_orders ("ws");
    died (1, stopped, (struct life_report){ -1, "it is in a container", false },
          "srun: error: spank_tf: step 12.0: rank 1 (worker 1) on n2 has ended, stopped, and is not started again: it is in a "
          "container\n" FIRST "worker 0 on n1 at TIME, signal 9\n");
    check_orders ("xx");
    end ();
}

TEST (a_step_that_is_asked_to_end_is_not_restarted)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("chief,ps,worker:2", 4, 3));
    died (2, killed, (struct life_report){ 0, NULL, true }, "");
    check_orders ("--x-");
    died (3, killed, first, "");
    check_orders ("---x");
    end ();
    /* SIGTERM comes while a task waits. */
    assert_true (begin_restarts ("ps,worker:2", 3, 3));
    died (1, killed, first, STEP "rank 1 (worker 0) on n1 has ended, signal 9; it is started again in "
          "1 s (restarts left: 2)\n");
    check_orders ("-w-");
    died (1, killed, (struct life_report){ 0, NULL, true }, "");
    check_orders ("-w-");
    check_orders ("-x-");
    end ();
}

TEST (an_order_to_restart_that_was_lost_is_given_again)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("chief,ps,worker:2", 4, 1));
    died (2, killed, first, STEP "rank 2 (worker 0) on n2 has ended, signal 9; it is started again in "
          "1 s (restarts left: 0)\n");
    check_orders ("--w-");
    await_restart ();
    check_orders ("--r-");
    died (2, killed, first, "");
    check_orders ("--r-");
    end ();
}

TEST (a_task_that_cannot_be_started_again_says_why)
{
    assert_true (begin_restarts ("chief,ps,worker:2", 4, 1));
    died (2, killed, (struct life_report){ -1, "it is in a container", false },
          "srun: error: spank_tf: step 12.0: rank 2 (worker 0) on n2 has ended, signal 9, and is not "
          "started again: it is in a container\n");
    check_orders ("--x-");
    end ();
}

TEST (a_reason_cannot_have_control_characters)
{
    assert_true (begin_restarts ("chief,ps,worker:2", 4, 1));
    died (2, killed, (struct life_report){ -1, "/tmp/a\033[2J\nb: No such file", false },
          "srun: error: spank_tf: step 12.0: rank 2 (worker 0) on n2 has ended, signal 9, and is not "
          "started again: /tmp/a\\x1b[2J\\x0ab: No such file\n");
    check_orders ("--x-");
    end ();
}

/* A PreemptionCheckpointHandler: all save together, and the last one needs longer. */
TEST (after_a_task_that_has_saved_the_others_may_end_by_themselves)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("worker:3", 3, 1));
    died (1, saved, first, STEP "rank 1 (worker 1) on n1 has ended, exit 42; the others have 10 s to "
          "end, too, and all are started again after 1 s (restarts left: 0)\n");
    check_orders ("-w-");
    died (0, saved, first, "");
    check_orders ("w--");
    await_restart ();
    check_orders ("--s");
    died (2, stopped, first, "");
    await_restart ();
    check_orders ("rrw");
    check_orders ("--r");
    end ();
}

TEST (tasks_that_only_serve_are_stopped_at_once_also_then)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("chief,ps,worker", 3, 1));
    died (0, saved, first, STEP "rank 0 (chief 0) on n1 has ended, exit 42; the others have 10 s to "
          "end, too, and all are started again after 1 s (restarts left: 0)\n");
    check_orders ("wss");
    end ();
}

/* Its supervisor has started it again without the rendezvous, as often as that is allowed. */
TEST (a_later_life_than_that_which_was_ordered_uses_up_restarts)
{
    assert_true (begin_restarts ("chief,ps,worker:2", 4, 3));
    died (2, killed, (struct life_report){ 2, NULL, false },
          STEP "rank 2 (worker 0) on n2 has ended, signal 9; it is started again in 4 s "
          "(restarts left: 0)\n");
    check_orders ("--w-");
    await_restart ();
    check_orders ("--r-");
    died (2, killed, (struct life_report){ 3, NULL, false },
          STEP "rank 2 (worker 0) on n2 has ended, signal 9; no restart is left\n");
    check_orders ("--x-");
    end ();
}

TEST (a_life_that_cannot_be_is_not_believed)
{
    assert_true (begin_restarts ("chief,ps,worker:2", 4, 3));
    died (2, killed, (struct life_report){ 4, NULL, false },
          "srun: error: spank_tf: step 12.0: rank 2 (worker 0) on n2 has ended, signal 9, and is not "
          "started again: a task of the cluster cannot be\n");
    check_orders ("--x-");
    end ();
}

TEST (a_report_that_is_sent_again_while_the_task_waits_changes_nothing)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("chief,ps,worker:2", 4, 2));
    died (2, killed, first, STEP "rank 2 (worker 0) on n2 has ended, signal 9; it is started again in "
          "1 s (restarts left: 1)\n");
    died (2, killed, first, "");
    died (2, killed, first, "");
    check_orders ("--w-");
    check_orders ("--w-");
    check_orders ("--w-");
    await_restart ();
    check_orders ("--r-");
    check_orders ("----");
    end ();
}

TEST (the_first_to_fail_is_so_also_if_its_report_is_sent_again)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("chief,worker:2", 3, 1));
    died (2, killed, first, STEP "rank 2 (worker 1) on n2 has ended, signal 9; all tasks are stopped, "
          "and started again after 1 s (restarts left: 0)\n");
    died (1, killed, first, "");
    died (0, stopped, first, "");
    died (2, killed, (struct life_report){ 0, NULL, true },
          FIRST "worker 1 on n2 at TIME, signal 9\n");
    end ();
}

TEST (a_supervisor_that_is_lost_while_its_task_waits_is_not_waited_for)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("ps,worker:2", 3, 2));
    died (1, killed, first, STEP "rank 1 (worker 0) on n1 has ended, signal 9; it is started again in "
          "1 s (restarts left: 1)\n");
    check_orders ("-w-");
    lose (1);
    await_restart ();
    check_orders ("---");
    await_next (LOST "rank 1 (worker 0) on n1\n");
    died (2, success, first, "");
    check_orders ("s-x");
    end ();
}

/* Nothing has been decided about its cluster, but spank_tf has counted it as ended. */
TEST (an_evaluator_that_was_lost_and_returned_is_not_started_again)
{
    const struct life_report first = { 0, NULL, false };

    assert_true (begin_restarts ("worker,evaluator", 2, 2));
    reset (1);
    await_next (LOST "rank 1 (evaluator 0) on n2\n");
    reconnect (1);
    died (1, killed, first, "srun: error: spank_tf: step 12.0: rank 1 (evaluator 0) on n2 has ended, "
          "signal 9, and is not started again: its supervisor was lost for a time, or cannot do so\n");
    end ();
}

TEST (destroying_null_is_allowed)
{
    shutdown_destroy (NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (when_the_chief_ends_the_other_tasks_are_stopped),
        cmocka_unit_test (tasks_that_end_by_themselves_are_not_supervised),
        cmocka_unit_test (the_ranks_that_only_serve_are_known_before_their_answers),
        cmocka_unit_test (under_a_parallel_debugger_no_task_is_supervised_and_that_is_printed),
        cmocka_unit_test (a_ps_that_failed_is_named),
        cmocka_unit_test (a_ps_that_ended_by_sigterm_did_not_fail),
        cmocka_unit_test (an_evaluators_grace_begins_when_the_job_is_over),
        cmocka_unit_test (one_line_names_the_first_task_that_gets_the_grace),
        cmocka_unit_test (a_task_that_has_ended_gets_no_grace),
        cmocka_unit_test (without_a_grace_an_evaluator_is_stopped_at_once),
        cmocka_unit_test (
            a_second_exit_report_is_ignored_and_the_table_precedes_the_last_order),
        cmocka_unit_test (the_table_has_every_rank),
        cmocka_unit_test (the_first_failure_is_named_with_its_log_file),
        cmocka_unit_test (without_a_failure_none_is_named),
        cmocka_unit_test (a_task_whose_supervisor_is_killed_counts_as_ended_after_ten_seconds),
        cmocka_unit_test (a_task_whose_connection_is_reset_counts_as_ended_after_a_minute),
        cmocka_unit_test (a_lost_task_failed_when_its_connection_was_lost),
        cmocka_unit_test (a_task_whose_connection_times_out_counts_as_ended_after_five_minutes),
        cmocka_unit_test (an_order_that_cannot_be_sent_starts_the_timer_too),
        cmocka_unit_test (a_ps_that_is_lost_ends_the_job),
        cmocka_unit_test (a_task_that_returns_after_it_counted_as_ended_has_not_ended),
        cmocka_unit_test (a_task_that_returns_after_the_end_of_the_job_is_stopped),
        cmocka_unit_test (a_supervisor_that_reconnects_receives_its_order_again),
        cmocka_unit_test (a_worker_of_a_chief_is_started_again_alone_as_often_as_allowed),
        cmocka_unit_test (when_a_ps_fails_all_are_stopped_and_then_all_are_started_again),
        cmocka_unit_test (a_task_that_ended_with_0_takes_part_in_a_restart_of_all),
        cmocka_unit_test (a_task_that_waits_for_its_next_life_when_the_work_is_done_is_stopped),
        cmocka_unit_test (during_an_evaluators_grace_it_and_what_is_beside_the_cluster_are_started_again),
        cmocka_unit_test (when_the_evaluator_has_ended_what_waits_beside_the_cluster_is_stopped),
        cmocka_unit_test (what_was_started_again_in_the_grace_is_stopped_at_its_end),
        cmocka_unit_test (an_evaluator_whose_grace_is_shorter_than_the_pause_is_not_started_again),
        cmocka_unit_test (with_wait_slurm_learns_of_every_end_and_a_task_that_has_ended_cannot_be_started_again),
        cmocka_unit_test (a_supervisor_waits_only_as_long_as_its_task_may_be_started_again),
        cmocka_unit_test (a_step_that_is_asked_to_end_is_not_restarted),
        cmocka_unit_test (an_order_to_restart_that_was_lost_is_given_again),
        cmocka_unit_test (a_task_that_cannot_be_started_again_says_why),
        cmocka_unit_test (a_reason_cannot_have_control_characters),
        cmocka_unit_test (after_a_task_that_has_saved_the_others_may_end_by_themselves),
        cmocka_unit_test (tasks_that_only_serve_are_stopped_at_once_also_then),
        cmocka_unit_test (a_later_life_than_that_which_was_ordered_uses_up_restarts),
        cmocka_unit_test (a_life_that_cannot_be_is_not_believed),
        cmocka_unit_test (a_report_that_is_sent_again_while_the_task_waits_changes_nothing),
        cmocka_unit_test (the_first_to_fail_is_so_also_if_its_report_is_sent_again),
        cmocka_unit_test (a_supervisor_that_is_lost_while_its_task_waits_is_not_waited_for),
        cmocka_unit_test (an_evaluator_that_was_lost_and_returned_is_not_started_again),
        cmocka_unit_test (destroying_null_is_allowed),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
