/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Launches that fail: srun ends, ranks do not register, are lost, or cannot take part.
 * tf-rendezvous prints one message, refuses every rank, and exits when srun has ended.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/goal.h"
#include "reports.h"
#include "simulation.h"

#define TASKS 8
/* Their answers have 22 KB each, and the socket buffers 4 KB. */
#define MANY 1000

/* Ranks from..TASKS-1 register. */
static void _register_ranks (const struct launch *launch, int rank[TASKS], int from)
{
    for (int i = from; i < TASKS; i++)
        rank[i] = register_rank (launch, i);
    launch_wait_processed (launch);
}

/* Above what a launch of the tests takes when other tests beside it take the processors. */
#define MESSAGE_MS (4 * REACTION_MS)

/* Wait for a message, which must not come before this time. */
static void _await_message (const struct launch *launch, int64_t at_least_us)
{
    int64_t begin = now_us ();

    while (stderr_text (launch)[0] == '\0') {
        if (now_us () - begin > MESSAGE_MS * INT64_C (1000))
            die ("tf-rendezvous has printed nothing after %d ms", MESSAGE_MS);
        poll (NULL, 0, 10);
    }
    if (now_us () - begin < at_least_us)
        die ("tf-rendezvous printed too early: \"%s\"", stderr_text (launch));
}

/* srun ends. */

TEST ("srun ends before its configuration is complete: tf-rendezvous exits silently")
{
    struct launch launch = { .tasks = TASKS };
    struct frame *frame;
    const void *bytes;
    size_t length;
    int status;

    launch_start_unconfigured (&launch);
    frame = launch_encode_config (&launch);
    bytes = frame_bytes (frame, 0, &length);
    send_all (launch.srun, bytes, length / 2);
    frame_destroy (frame);
    launch_end_srun (&launch);
    if (waitpid (launch.pid, &status, 0) < 0 || !WIFEXITED (status) || WEXITSTATUS (status) != 1)
        die ("tf-rendezvous' wait status is %#x", (unsigned int)status);
    expect_stderr (&launch, "");
}

/* As after scancel: the ranks end one after the other, then srun does. */
TEST ("srun ends after its ranks, which end one by one: there is no message")
{
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    launch_start (&launch);
    _register_ranks (&launch, rank, 1);
    for (int i = 1; i < TASKS; i++) {
        close (rank[i]);
        poll (NULL, 0, 100);
    }
    launch_end_srun (&launch);
    launch_expect_exit (&launch);
    expect_stderr (&launch, "");
}

TEST ("srun ends while answers are being sent: no partial answer looks complete")
{
    struct launch launch = { .tasks = MANY, .socket_buffer = 4096 };
    int rank[MANY];

    launch_start (&launch);
    register_all (&launch, rank);
    expect_answer (&launch, 0, rank[0]);
    launch_end_srun (&launch);
    launch_expect_exit (&launch);
    for (int i = 1; i < MANY; i++)
        expect_incomplete_answer (rank[i]);
    expect_stderr (&launch, "");
}

/* Ranks do not register; launch.bats has those that miss the deadline. */

TEST ("no rank registers: a message says so, and later ranks are refused")
{
    struct launch launch = { .tasks = TASKS, .timeout = 1 };

    launch_start (&launch);
    _await_message (&launch, 0);
    for (int i = 0; i < TASKS; i++)
        expect_refusal (&launch, register_rank (&launch, i));
    launch_end_srun (&launch);
    launch_expect_exit (&launch);
    expect_stderr (
        &launch, "srun: error: spank_tf: step 12.0: no task registered within 1 s, so the step was refused; "
                 "check slurmd on the nodes, and that they can reach srun's host (SrunPortRange)\n");
}

/* Ranks are lost. */

TEST ("ranks that are lost and register again at once get their answers")
{
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];
    char byte;

    launch_start (&launch);
    _register_ranks (&launch, rank, 1);
    for (int i = 1; i < TASKS; i++) {
        close (rank[i]);
        rank[i] = register_rank (&launch, i);
    }
    /*
     * The rendezvous may see the new connection before the end of the old one. It closes the
     * new one then, and the rank connects again. This goes on for longer than LOST_GRACE_MS.
     */
    for (int tenths = 0; tenths < 15; tenths++) {
        poll (NULL, 0, 100);
        for (int i = 1; i < TASKS; i++)
            if (recv (rank[i], &byte, 1, 0) == 0) {
                close (rank[i]);
                rank[i] = register_rank (&launch, i);
            }
    }
    rank[0] = register_rank (&launch, 0);
    expect_launched (&launch, rank);
    expect_stderr (&launch, "");
}

/* A rank that has its whole answer and closes the connection may not have read it. */
TEST ("a rank that does not acknowledge its answer is named, and may register again")
{
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    launch_start (&launch);
    _register_ranks (&launch, rank, 0);
    for (int i = 0; i < TASKS; i++)
        if (i != 2)
            expect_answer (&launch, i, rank[i]);
    close (rank[2]);
    _await_message (&launch, 500000);
    expect_stderr (&launch, "srun: error: spank_tf: step 12.0: 1 of 8 tasks ended before they "
                            "received TF_CONFIG, and the other tasks had started: worker 1 (rank 2, n1). "
                            "Cancel the step and run it again\n");
    rank[2] = register_rank (&launch, 2);
    expect_answer (&launch, 2, rank[2]);
    launch_expect_exit (&launch);
}

/* Until it has read its answer, a rank that is to be supervised has no supervisor that could reconnect. */
TEST ("a rank that is to be supervised, and has not read its answer, may register again")
{
    struct launch launch = { .tasks = TASKS, .show = true };
    int rank[TASKS];

    launch_start (&launch);
    _register_ranks (&launch, rank, 0);
    launch_wait_processed (&launch);
    close (rank[2]);
    launch_wait_processed (&launch);
    rank[2] = register_rank (&launch, 2);
    expect_launched (&launch, rank);
}

/* Supervisors. */

static struct goal _receive_goal (const struct launch *launch, int fd)
{
    struct frame *frame = receive_frame (fd, REACTION_MS);
    struct goal goal;

    if (!frame || goal_decode (&goal, frame, launch->contact.server_token, NULL) < 0)
        die ("a supervisor is told nothing");
    frame_destroy (frame);
    return goal;
}

static void _expect_to_leave (const struct launch *launch, int fd)
{
    if (!_receive_goal (launch, fd).leave)
        die ("a supervisor is not let go");
}

/* A rank's supervisor tells that, on this new connection. */
static void _tell (const struct launch *launch, int fd, int rank, const struct status *status)
{
    struct simulated simulated;

    simulate_rank (launch, rank, &simulated);
    send_frame (fd, status_encode_first (status, launch->contact.token, simulated.node, rank));
}

/* Its task has ended so, on a new connection. */
static int _reconnect (const struct launch *launch, int rank, const char *how)
{
    const struct status status = status_of_end (how);
    int fd = connect_to_rendezvous (launch);

    _tell (launch, fd, rank, &status);
    return fd;
}

static void _report (int fd, const char *how)
{
    const struct status status = status_of_end (how);

    send_frame (fd, fields_frame (&status_fields, &status));
}

/* Each rank has its answer, and says nothing to it. */
static void _start_supervised (struct launch *launch, int rank[])
{
    launch_start (launch);
    for (int i = 0; i < launch->tasks; i++)
        rank[i] = register_rank (launch, i);
    for (int i = 0; i < launch->tasks; i++) {
        struct frame *answer = receive_frame (rank[i], REACTION_MS);

        check_answer (launch, i, answer);
        frame_destroy (answer);
    }
}

/* That it may leave may be lost with its connection, whatever that looks like. */
TEST ("all tasks have ended, and that supervisors may leave was lost: they are told again until srun ends")
{
    static const char *const how[] = { "exit 3", "exit 0" };
    struct launch launch = { .tasks = 2, .show = true };
    int rank[2];

    _start_supervised (&launch, rank);
    for (int i = 0; i < 2; i++)
        _report (rank[i], how[i]);
    launch_wait_processed (&launch);
    for (int i = 0; i < 2; i++)
        close (rank[i]);
    launch_wait_processed (&launch);
    for (int i = 0; i < 2; i++)
        _expect_to_leave (&launch, _reconnect (&launch, i, how[i]));
    launch_expect_exit (&launch);
}

/* The rendezvous is killed. */

/* The first child of a process with this name, or any; or 0. */
static pid_t _child_of (pid_t parent, const char *name)
{
    char path[64], text[32];
    FILE *children, *comm;
    int pid, found = 0;

    snprintf (path, sizeof (path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    if (!(children = fopen (path, "re")))
        return 0;
    while (found == 0 && fscanf (children, "%d", &pid) == 1) {
        snprintf (path, sizeof (path), "/proc/%d/comm", pid);
        if (!(comm = fopen (path, "re")))
            continue;
        if (fgets (text, sizeof (text), comm) && (!name || strncmp (text, name, strlen (name)) == 0))
            found = pid;
        fclose (comm);
    }
    fclose (children);
    return found;
}

/* Its keeper, which then is this process' child, begins the next one. */
static void _kill_rendezvous (struct launch *launch)
{
    pid_t pid = launch->pid;

    kill (pid, SIGKILL);
    waitpid (pid, NULL, 0);
    for (int ms = 0; ms < REACTION_MS && launch->pid == pid; ms++) {
        pid_t keeper = _child_of (getpid (), "tf-keeper"), next = keeper ? _child_of (keeper, "tf-rend") : 0;

        poll (NULL, 0, 1);
        launch->pid = next > 0 ? next : pid;
    }
    if (launch->pid == pid)
        die ("there is no other one");
    launch_wait_processed (launch);
}

static void _await_no_child (void)
{
    for (int ms = 0; ms < REACTION_MS && _child_of (getpid (), NULL); ms++) {
        waitpid (-1, NULL, WNOHANG);
        poll (NULL, 0, 1);
    }
    if (_child_of (getpid (), NULL))
        die ("something is left");
}

static int _run_again (const struct launch *launch, int rank)
{
    const struct status status = { .ended = false };
    int fd = connect_to_rendezvous (launch);

    _tell (launch, fd, rank, &status);
    if (_receive_goal (launch, fd).stop != GOAL_RUN)
        die ("a task is stopped that runs");
    return fd;
}

static int _times (const struct launch *launch, const char *text)
{
    int times = 0;

    for (const char *at = stderr_text (launch); (at = strstr (at, text)); at++)
        times++;
    return times;
}

static void _expect_times (const struct launch *launch, const char *text, int times)
{
    if (_times (launch, text) != times)
        die ("\"%s\" is too often, or not often enough, in \"%s\"", text, stderr_text (launch));
}

/* Before an end, between two, and after the last one: each is told once, and the ps is stopped. */
TEST ("the rendezvous is killed twice: it goes on, each end is told once, and the ps is stopped")
{
    struct launch launch = { .tasks = 3, .show = true, .stops = true };
    int rank[3], times;

    prctl (PR_SET_CHILD_SUBREAPER, 1);
    _start_supervised (&launch, rank);
    _kill_rendezvous (&launch);
    for (int i = 0; i < 3; i++)
        rank[i] = _run_again (&launch, i);
    _report (rank[1], "exit 3");
    _expect_to_leave (&launch, rank[1]);
    _kill_rendezvous (&launch);
    rank[0] = _run_again (&launch, 0);
    rank[2] = _reconnect (&launch, 2, "exit 0");
    if (_receive_goal (&launch, rank[0]).stop != GOAL_STOP)
        die ("the ps is not stopped");
    _expect_to_leave (&launch, rank[2]);
    _report (rank[0], "stopped");
    _expect_to_leave (&launch, rank[0]);
    launch_end_srun (&launch);
    _await_no_child ();
    /* Twice if the second one lived for two seconds. */
    times = _times (&launch, "tf-rendezvous was killed and restarted. The job continues");
    if (times != 1 && times != 2)
        die ("that it goes on is told %d times", times);
    _expect_times (&launch, "3 tasks on 2 nodes", 1);
    _expect_times (&launch, "failed with exit code 3. spank_tf does not stop the other tasks", 1);
    _expect_times (&launch, "how its tasks ended", 1);
    _expect_times (&launch, "first failure: worker 0 (n0)", 1);
}

/* For the third time within a minute; or while the ranks wait. */
TEST ("the rendezvous is killed for the third time in a minute, or before the answers: it has ended")
{
    struct launch launch = { .tasks = 3, .show = true, .stops = true }, early = launch;
    int rank[3];

    prctl (PR_SET_CHILD_SUBREAPER, 1);
    _start_supervised (&launch, rank);
    _kill_rendezvous (&launch);
    _kill_rendezvous (&launch);
    kill (launch.pid, SIGKILL);
    _await_no_child ();
    _expect_times (&launch, "tf-rendezvous was killed and cannot be restarted: it was the third time", 1);
    launch_start (&early);
    register_rank (&early, 0);
    launch_wait_processed (&early);
    kill (early.pid, SIGKILL);
    _await_no_child ();
    _expect_times (&early, "tf-rendezvous was killed", 0);
}

/* A node with the token. */

/* From another address of this host than that of the registrations. */
static int _connect_from_elsewhere (const struct launch *launch)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons ((uint16_t)launch->contact.port),
                              .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK + 1) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind (fd, (struct sockaddr *)&from, sizeof (from)) < 0
        || connect (fd, (struct sockaddr *)&to, sizeof (to)) < 0 || fcntl (fd, F_SETFL, O_NONBLOCK) < 0)
        die ("cannot connect from 127.0.0.2: %s", strerror (errno));
    return fd;
}

/* A node with the token says that the task of another one has ended, or registers as that. */
static void _impersonate (const struct launch *launch, int rank)
{
    const struct status status = status_of_end ("exit 0");
    int fd = _connect_from_elsewhere (launch);

    _tell (launch, fd, rank, &status);
    expect_no_data (fd);
    fd = connect_to_rendezvous (launch);
    send_frame (fd, status_encode_first (&status, launch->contact.token, "n7", rank));
    expect_no_data (fd);
    fd = _connect_from_elsewhere (launch);
    send_frame (fd, encode_registration (launch, rank));
    expect_no_data (fd);
}

TEST ("a node with the token cannot speak for the task of another node, even after the rendezvous was killed")
{
    struct launch launch = { .tasks = 3, .show = true, .stops = true };
    int rank[3];

    prctl (PR_SET_CHILD_SUBREAPER, 1);
    _start_supervised (&launch, rank);
    _impersonate (&launch, 2);
    _kill_rendezvous (&launch);
    _impersonate (&launch, 2);
    for (int i = 0; i < 3; i++)
        rank[i] = _run_again (&launch, i);
    _impersonate (&launch, 2);
    _report (rank[2], "exit 3");
    _expect_to_leave (&launch, rank[2]);
    _report (rank[1], "exit 0");
    if (_receive_goal (&launch, rank[0]).stop != GOAL_STOP)
        die ("the ps is not stopped");
    _expect_to_leave (&launch, rank[1]);
    _report (rank[0], "stopped");
    _expect_to_leave (&launch, rank[0]);
    launch_end_srun (&launch);
    _await_no_child ();
    _expect_times (&launch, "failed with exit code 3. spank_tf does not stop the other tasks", 1);
    _expect_times (&launch,
                   "srun: spank_tf: step 12.0: refused a connection for worker 1 (rank 2, n1): it came from "
                   "127.0.0.2 (\"n1\"), and the task had registered from 127.0.0.1\n",
                   2);
}

/* Ranks cannot take part. */

/* Only TOKEN, RELEASE and NODE are known in every version of the protocol. */
TEST ("a rank with another protocol version is named, and all ranks are refused")
{
    struct launch launch = { .tasks = TASKS };
    struct frame *frame = frame_create ();
    int rank[TASKS], other;
    unsigned char bytes[512];
    char line[256];
    const void *whole;
    size_t length;

    launch_start (&launch);
    _register_ranks (&launch, rank, 1);
    frame_add (frame, "TOKEN", "%s", launch.contact.token);
    frame_add (frame, "RELEASE", "7.0.0");
    frame_add (frame, "NODE", "n0");
    frame_add (frame, "SHAPE", "of those times");
    whole = frame_bytes (frame, 0, &length);
    memcpy (bytes, whole, length);
    frame_destroy (frame);
    bytes[5] = FRAME_VERSION + 6;
    other = connect_to_rendezvous (&launch);
    send_all (other, bytes, length);
    expect_refusal (&launch, other);
    for (int i = 1; i < TASKS; i++)
        expect_refusal (&launch, rank[i]);
    launch_end_srun (&launch);
    launch_expect_exit (&launch);
    snprintf (line, sizeof (line),
              "srun: error: spank_tf: n0 has spank-tf 7.0.0 (protocol %d), "
              "but srun's host has " PACKAGE_VERSION
              " (protocol %d). Install the same version on all hosts\n",
              FRAME_VERSION + 6, FRAME_VERSION);
    expect_stderr (&launch, line);
}

int main (void)
{
    raise_file_limit (2 * MANY);
    return run_tests () ? 0 : 1;
}
