/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Connections to the rendezvous that do not belong to its ranks: most without the token, some
 * with it. A launch of 8 ranks waits for its last rank while other connections send what an
 * attacker or a confused program could send. The rendezvous closes each of them as soon as it can
 * know that it is not a rank. Then the last rank registers, and each time the same must hold:
 * every rank gets the right answer at once, the other connections get no data, tf-rendezvous uses
 * little memory and exits.
 * What is in a message is tried by unit/test_messages.c and fuzz/; here, who sends it, how many and how.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/tcp.h"
#include "protocol/status.h"
#include "simulation.h"

#define TASKS 8
#define LAST (TASKS - 1)
#define MANY_CONNECTIONS 2000       /* more than stay open while they are unauthenticated */
/* Half of what they would take if all stayed open. */
#define MAX_MEMORY_KIB (MANY_CONNECTIONS * (FRAME_MAX_REGISTRATION / 1024) / 2)
/* Twice AUTHENTICATE_MS of peers.c. */
#define TIMEOUT_MS 20000

static long _cpu_ms (const struct launch *launch)
{
    const struct rusage *usage = &launch->usage;

    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000
           + (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

/* The connections of this test that do not belong to ranks. */
static int connection[4096];
static size_t connections;

static int _connect (const struct launch *launch)
{
    int fd = connect_to_rendezvous (launch);

    if (connections == COUNT (connection))
        die ("too many connections");
    connection[connections++] = fd;
    return fd;
}

static void _send_frame (const struct launch *launch, struct frame *frame)
{
    send_frame (_connect (launch), frame);
}

/* A frame's header, built without frame.c. */
static void _make_header (unsigned char h[FRAME_HEADER], int version, uint32_t length)
{
    /* clang-format off */
    const unsigned char bytes[FRAME_HEADER] = {
        'S', 'p', 'T', 'F', (unsigned char)(version >> 8), (unsigned char)version, 0, 0,
        (unsigned char)(length >> 24), (unsigned char)(length >> 16),
        (unsigned char)(length >> 8), (unsigned char)length
    };
    /* clang-format on */

    memcpy (h, bytes, sizeof (bytes));
}

/* The last rank's registration with another value of that key, or without the key. */
static struct frame *_altered_registration (const struct launch *launch, const char *key, const char *value)
{
    struct frame *right = encode_registration (launch, LAST), *frame = frame_create ();
    size_t len = strlen (key);

    for (const char *s = frame_next (right, NULL); s; s = frame_next (right, s)) {
        const char *equals = strchr (s, '=');
        char name[32];

        snprintf (name, sizeof (name), "%.*s", (int)(equals - s), s);
        if (strncmp (s, key, len) != 0 || s[len] != '=')
            frame_add (frame, name, "%s", equals + 1);
        else if (value)
            frame_add (frame, name, "%s", value);
    }
    frame_destroy (right);
    return frame;
}

/* Without the token. */

/* The longest frame that the rendezvous accepts, without its last byte. */
static void _half_frames (const struct launch *launch)
{
    static unsigned char bytes[FRAME_HEADER + FRAME_MAX_REGISTRATION - 1];

    memset (bytes, 'x', sizeof (bytes));
    _make_header (bytes, FRAME_VERSION, FRAME_MAX_REGISTRATION);
    for (size_t i = 0; i < MANY_CONNECTIONS; i++)
        send_all (_connect (launch), bytes, i % 4 ? sizeof (bytes) : i % FRAME_HEADER);
}

static void _wrong_tokens (const struct launch *launch)
{
    char token[2 * CONTACT_TOKEN];
    const char *right = launch->contact.token;

    _send_frame (launch, _altered_registration (launch, "TOKEN", NULL));
    _send_frame (launch, _altered_registration (launch, "TOKEN", ""));
    _send_frame (launch, _altered_registration (launch, "TOKEN", launch->contact.server_token));
    for (int i = 0; i < CONTACT_TOKEN - 1; i++) {
        strcpy (token, right);
        token[i] = token[i] == '0' ? '1' : '0';
        _send_frame (launch, _altered_registration (launch, "TOKEN", token));
        token[i] = '\0';
        _send_frame (launch, _altered_registration (launch, "TOKEN", token));
    }
    snprintf (token, sizeof (token), "%s0", right);
    _send_frame (launch, _altered_registration (launch, "TOKEN", token));
    snprintf (token, sizeof (token), "%s%s", right, right);
    _send_frame (launch, _altered_registration (launch, "TOKEN", token));
}

/* With the token. */

static void _registered_ranks (const struct launch *launch)
{
    struct simulated other;

    for (int i = 0; i < LAST; i++)
        _send_frame (launch, encode_registration (launch, i));
    simulate_rank (launch, 3, &other);
    other.rank.port = 9;
    _send_frame (launch, registration_encode (&other.rank, launch->contact.token));
}

static void _other_tasks (const struct launch *launch)
{
    static const int tasks[] = { 1, TASKS - 1, TASKS + 1, 5000, REGISTRATION_MAX_TASKS };

    for (size_t i = 0; i < COUNT (tasks); i++) {
        struct launch other = *launch;

        other.tasks = tasks[i];
        _send_frame (launch, encode_registration (&other, 0));
        _send_frame (launch, encode_registration (&other, tasks[i] - 1));
    }
}

static void _reconnects (const struct launch *launch)
{
    static const struct status status = { .ended = true, .life = { .number = 1 } };
    static const int rank[] = { 0, LAST, TASKS };

    /* From their own nodes: another one is said once the last rank has registered. */
    for (size_t i = 0; i < COUNT (rank); i++) {
        char node[16];

        snprintf (node, sizeof (node), "n%d", rank[i] / 2);
        _send_frame (launch, status_encode_first (&status, launch->contact.token, node, rank[i]));
    }
}

/* The connections are closed at once, by FIN and by RST. */
static void _connect_and_close (const struct launch *launch)
{
    for (int i = 0; i < 1000; i++) {
        int fd = connect_to_rendezvous (launch);

        if (i % 3 == 0)
            send_all (fd, "SpTF", 4);
        if (i % 2)
            tcp_abort (fd);
        else
            close (fd);
    }
}

static void _silent (const struct launch *launch)
{
    for (size_t i = 0; i < 100; i++) {
        int fd = _connect (launch);

        if (i % 2)
            shutdown (fd, SHUT_WR);
    }
}

static const struct attack {
    const char *sentence;
    void (*function) (const struct launch *launch);
    bool stays_open;                /* the rendezvous has no reason to close them yet */
} attacks[] = {
    { "a launch is not disturbed by 2000 incomplete frames", _half_frames, true },
    { "a launch is not disturbed by wrong, short and long tokens", _wrong_tokens, false },
    { "a launch is not disturbed by ranks that have registered already", _registered_ranks, false },
    { "a launch is not disturbed by ranks of a step with another number of tasks", _other_tasks, false },
    { "a launch is not disturbed by supervisors that reconnect to a step without supervision", _reconnects,
      false },
    { "a launch is not disturbed by 1000 connections that are closed at once", _connect_and_close, false },
    { "a launch is not disturbed by connections without data", _silent, true },
};

static void _expect_all_closed (void)
{
    while (connections > 0)
        expect_no_data (connection[--connections]);
}

/* A launch that waits for its last rank. */

static void _start (struct launch *launch, int rank[TASKS])
{
    launch_start (launch);
    for (int i = 0; i < LAST; i++)
        rank[i] = register_rank (launch, i);
    launch_wait_processed (launch);
}

static void _complete (struct launch *launch, int rank[TASKS])
{
    int64_t begin = now_us ();

    rank[LAST] = register_rank (launch, LAST);
    expect_launched (launch, rank);
    expect_stderr (launch, "");
    if (!rendezvous_is_instrumented () && now_us () - begin > REACTION_MS * INT64_C (1000))
        die ("the launch took longer than %d ms", REACTION_MS);
    _expect_all_closed ();
    if (!rendezvous_is_instrumented () && launch->usage.ru_maxrss > MAX_MEMORY_KIB)
        die ("tf-rendezvous uses %ld KiB", launch->usage.ru_maxrss);
}

static void _test_attack (const void *arg)
{
    const struct attack *attack = arg;
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    _start (&launch, rank);
    attack->function (&launch);
    if (!attack->stays_open)
        _expect_all_closed ();
    launch_wait_processed (&launch);
    _complete (&launch, rank);
}

/* All attacks, one after the other. They leave the processors to the launch now and then. */
static void _attack (const struct launch *launch)
{
    for (size_t i = 0; i < COUNT (attacks); i++) {
        attacks[i].function (launch);
        while (connections > MANY_CONNECTIONS / 4)
            close (connection[--connections]);
        poll (NULL, 0, 20);
    }
}

TEST ("a launch is not disturbed by all of these at the same time")
{
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];
    pid_t one, two;

    _start (&launch, rank);
    one = repeat_in_background (_attack, &launch);
    two = repeat_in_background (_attack, &launch);
    poll (NULL, 0, 1000);
    if (waitpid (one, NULL, WNOHANG) != 0 || waitpid (two, NULL, WNOHANG) != 0)
        die ("a process that attacks has ended");
    _complete (&launch, rank);
}

/* Registered ranks send garbage, more than fits in a buffer; or a registration again. */
TEST ("data that ranks send after their registrations does not disturb the launch")
{
    static char bytes[20000];
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    _start (&launch, rank);
    send_frame (rank[2], encode_registration (&launch, 2));
    send_frame (rank[3], encode_registration (&launch, 4));
    for (int i = 0; i < 50; i++)
        send_all (rank[1], bytes, sizeof (bytes));
    launch_wait_processed (&launch);
    rank[LAST] = register_rank (&launch, LAST);
    for (int i = 0; i < TASKS; i++)
        if (i != 1)
            expect_answer (&launch, i, rank[i]);
    close (rank[1]);
    launch_wait_processed (&launch);
    expect_answer (&launch, 1, register_rank (&launch, 1));
    launch_expect_exit (&launch);
    expect_stderr (&launch, "");
}

/* A rank that has acknowledged its answer, and one whose connection stands, register again. */
TEST ("a registration after the answer does not disturb the launch")
{
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    _start (&launch, rank);
    rank[LAST] = register_rank (&launch, LAST);
    for (int i = 0; i < LAST; i++)
        expect_answer (&launch, i, rank[i]);
    expect_no_data (register_rank (&launch, 2));
    expect_no_data (register_rank (&launch, LAST));
    expect_answer (&launch, LAST, rank[LAST]);
    launch_expect_exit (&launch);
    expect_stderr (&launch, "");
}

#define MANY_RANKS 1000

/* The kernel has connected, but the process has not run yet, as on a node with many ranks. */
TEST ("1000 ranks that have connected and sent nothing yet are not closed")
{
    struct launch launch = { .tasks = MANY_RANKS };
    int rank[MANY_RANKS];

    launch_start (&launch);
    rank[0] = register_rank (&launch, 0);
    launch_wait_processed (&launch);
    for (int i = 1; i < MANY_RANKS; i++)
        rank[i] = connect_to_rendezvous (&launch);
    launch_wait_processed (&launch);
    for (int i = 1; i < MANY_RANKS; i++)
        send_frame (rank[i], encode_registration (&launch, i));
    expect_launched (&launch, rank);
    expect_stderr (&launch, "");
}

TEST ("a rank that does not read its answer does not delay the others")
{
    struct launch launch = { .tasks = MANY_RANKS, .socket_buffer = 4096 };
    int rank[MANY_RANKS];

    launch_start (&launch);
    register_all (&launch, rank);
    for (int i = 0; i < MANY_RANKS; i++)
        if (i != 7)
            expect_answer (&launch, i, rank[i]);
    if (waitpid (launch.pid, NULL, WNOHANG) != 0)
        die ("the socket buffers took the whole answer, so this test shows nothing");
    expect_answer (&launch, 7, rank[7]);
    launch_expect_exit (&launch);
    expect_stderr (&launch, "");
}

/* Connections with no data, with half a frame, and with a byte of a frame now and then. */
TEST ("a connection without a token is closed after ten seconds, and a message names the missing ranks")
{
    struct deadline deadline = deadline_in_ms (TIMEOUT_MS);
    struct launch launch = { .tasks = TASKS };
    unsigned char bytes[FRAME_HEADER + 1] = { 0 };
    size_t open = 30;
    int rank[TASKS];

    _start (&launch, rank);
    _make_header (bytes, FRAME_VERSION, FRAME_MAX_REGISTRATION);
    for (size_t i = 0; i < open; i++)
        send_all (_connect (&launch), bytes, i % 3 ? sizeof (bytes) : 0);
    while (open > 0) {
        if (deadline_passed (deadline))
            die ("%zu connections without a token are still open", open);
        poll (NULL, 0, 100);
        open = 0;
        for (size_t i = 0; i < connections; i++) {
            open += recv (connection[i], bytes, 1, MSG_PEEK) < 0 && errno == EAGAIN;
            if (i % 3 == 2)
                send (connection[i], "x", 1, MSG_NOSIGNAL);
        }
    }
    expect_stderr (&launch, "srun: spank_tf: step 12.0: waiting for 1 of 8 tasks to register (on n3)\n");
    rank[LAST] = register_rank (&launch, LAST);
    expect_launched (&launch, rank);
    if (!rendezvous_is_instrumented () && _cpu_ms (&launch) > 500)
        die ("tf-rendezvous used %ld ms of CPU time while it waited", _cpu_ms (&launch));
}

int main (void)
{
    raise_file_limit (2 * MANY_CONNECTIONS);
    for (size_t i = 0; i < COUNT (attacks); i++)
        add_test (attacks[i].sentence, false, _test_attack, &attacks[i]);
    return run_tests () ? 0 : 1;
}
