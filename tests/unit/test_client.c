/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/tf_config.h"
#include "protocol/answer.h"
#include "protocol/client.h"
#include "protocol/fields.h"
#include "protocol/hello.h"

/* An answer longer than the socket buffers of a new connection. */
#define CLUSTER_LENGTH 131000

static struct registration some_rank (void)
{
    /* clang-format off */
    return (struct registration){
        .rank = 17, .tasks = 64, .component_first = 16, .component_tasks = 48, .node_index = 4,
        .node = "n5", .step = "12.0", .host = { "boot/4026531840" }, .port = 40001,
    };
    /* clang-format on */
}

static void nap (int ms)
{
    nanosleep (&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

/*
 * A rendezvous in a child process. Its script has one letter for each connection:
 *
 *     a   read the registration, answer, and read the acknowledgement
 *                                                      r   read it and refuse
 *     w   answer with a wrong server token             n   refuse without a server token
 *     i   answer with the server token only
 *     d   answer, the first 40 bytes one by one        h   send half of an answer and close
 *     c   close at once                                C   read the registration and close
 *     R   read the registration and reset              g   send another protocol's bytes
 *     b   send a length above the ceiling              l   wait, then read and answer
 *     s   send nothing until the client closes         D   as s, and stop listening
 *
 * It exits with 0 if every connection was made and every registration was as expected.
 */
static void __attribute__ ((noreturn)) fail_server (const char *why)
{
    fprintf (stderr, "scripted server: %s\n", why);
    _exit (1);
}

static void read_registration (int fd)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_REGISTRATION };
    struct registration rank;
    struct address_text room;
    struct frame *frame;
    struct hello hello;

    if (frame_read (&reader, fd, &frame, NULL) != 1)
        fail_server ("no frame came");
    fields_decode (&hello_fields, &hello, frame, NULL);
    if (strcmp (hello.token, TOKEN) != 0 || hello.reconnects || registration_decode (&rank, frame, NULL) < 0
        || rank.rank != 17 || !strchr ("1:", address_print (&rank.address, &room)[0]))
        fail_server ("another registration came");
    frame_destroy (frame);
}

static void send_all (int fd, const char *bytes, size_t length)
{
    if (send (fd, bytes, length, MSG_NOSIGNAL) != (ssize_t)length)
        fail_server ("the client closed the connection");
}

static void send_answer (int fd, char what)
{
    static char cluster[CLUSTER_LENGTH], bytes[CLUSTER_LENGTH + 1024];
    /* clang-format off */
    const struct answer answer = {
        .refused = what == 'r', .role = "worker", .index = 1, .address = "10.0.0.5", .port = 40001,
        .cluster = cluster, .cluster_length = sizeof (cluster), .tail = "}",
    };
    /* clang-format on */
    struct answer_message message;
    size_t length = 0, sent = 0;

    memset (cluster, 'x', sizeof (cluster));
    if (answer_encode (&message, &answer, what == 'w' ? TOKEN : SERVER_TOKEN) < 0)
        fail_server ("no memory");
    for (int i = 0; i < ANSWER_PARTS && message.part[i].iov_len > 0; i++) {
        memcpy (bytes + length, message.part[i].iov_base, message.part[i].iov_len);
        length += message.part[i].iov_len;
    }
    answer_message_clear (&message);
    if (what == 'h')
        length /= 2;
    for (; what == 'd' && sent < 40; sent++)
        send_all (fd, bytes + sent, 1);
    send_all (fd, bytes + sent, length - sent);
}

static void read_acknowledgement (int fd)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_EXIT_REPORT };
    struct frame *frame;

    if (frame_read (&reader, fd, &frame, NULL) != 1 || !frame_has (frame, ACKNOWLEDGEMENT_KEY))
        fail_server ("the answer was not acknowledged");
    frame_destroy (frame);
}

/* Send an answer that consists of this string only. */
static void send_string (int fd, const char *key, const char *value)
{
    struct frame *frame = frame_create ();

    frame_add (frame, key, "%s", value);
    if (frame_send (frame, fd, NULL) < 0)
        fail_server ("the client closed the connection");
    frame_destroy (frame);
}

static void serve (int fd, char what, int listener)
{
    const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
    char byte;

    if (what == 'l')
        nap (100);
    if (what != 'c')
        read_registration (fd);
    if (what == 'g')
        send_all (fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    else if (what == 'b')
        send_all (fd, "SpTF\0\3\0\0\xff\xff\xff\xff", 12);
    else if (what == 'D')
        close (listener);
    else if (what == 'R')
        setsockopt (fd, SOL_SOCKET, SO_LINGER, &reset, sizeof (reset));
    else if (what == 'n')
        send_string (fd, "REFUSED", "1");
    else if (what == 'i')
        send_string (fd, "SERVER_TOKEN", SERVER_TOKEN);
    else if (strchr ("arwdhl", what))
        send_answer (fd, what);
    if (strchr ("adl", what))
        read_acknowledgement (fd);
    if (strchr ("sD", what) && recv (fd, &byte, 1, 0) != 0)
        fail_server ("the client sent more");
    close (fd);
}

static int listener_at (const char *address, int *port)
{
    *port = 0;
    return listening_socket (address, port, 0);
}

static void __attribute__ ((noreturn)) serve_script (int listener, const char *script)
{
    alarm (60);
    for (; *script; script++) {
        int fd = accept (listener, NULL, NULL);

        if (fd < 0)
            fail_server ("no connection came");
        serve (fd, *script, listener);
    }
    _exit (0);
}

static pid_t start_server (int listener, const char *script)
{
    pid_t server = fork ();

    if (server == 0)
        serve_script (listener, script);
    close (listener);
    return server;
}

/* Register with the rendezvous at this address. */
static enum client_outcome register_at (const char *at, int port, struct registration *rank, int ms,
                                        struct client_answer *answer, struct errtext *err)
{
    const struct contact contact = { .port = port, .token = TOKEN, .server_token = SERVER_TOKEN };
    struct address srun;

    assert_int_equal (address_parse (&srun, at), 0);
    return client_register (rank, &contact, &srun, deadline_in_ms (ms), answer, err);
}

/* Check the answer, and that the server sends nothing more on the connection. */
static void check_answer (struct client_answer *answer)
{
    char byte;

    assert_string_equal (answer->answer.role, "worker");
    assert_int_equal (answer->answer.index, 1);
    assert_string_equal (answer->answer.address, "10.0.0.5");
    assert_int_equal (answer->answer.port, 40001);
    assert_int_equal (strlen (frame_get (answer->frame, "TF_CONFIG")),
                      strlen (TF_CONFIG_HEAD) + CLUSTER_LENGTH + 1);
    assert_true (answer->fd >= 0);
    while (recv (answer->fd, &byte, 1, 0) < 0 && errno == EAGAIN)
        nap (1);
    frame_destroy (answer->frame);
    close (answer->fd);
}

#define OTHER_PROGRAM "the program that answers there is not this step's rendezvous"

TEST (each_outcome_is_returned_and_no_descriptor_stays_open)
{
    static const struct {
        const char *script;
        int ms;
        enum client_outcome outcome;
        const char *message;            /* for CLIENT_TIMED_OUT the end of the message */
    } row[] = {
        { "a", 10000, CLIENT_ANSWERED, "" },
        { "d", 10000, CLIENT_ANSWERED, "" },
        { "l", 10000, CLIENT_ANSWERED, "" },
        { "r", 10000, CLIENT_REFUSED, "" },
        { "w", 10000, CLIENT_NO_RENDEZVOUS, OTHER_PROGRAM },
        { "n", 10000, CLIENT_NO_RENDEZVOUS, OTHER_PROGRAM },
        { "i", 10000, CLIENT_NO_RENDEZVOUS, "the rendezvous' answer lacks SLURM_TF_ROLE" },
        { "cCRhgba", 10000, CLIENT_ANSWERED, "" },
        { "Cr", 10000, CLIENT_REFUSED, "" },
        { "s", 150, CLIENT_TIMED_OUT, "it does not answer" },
        { "gs", 700, CLIENT_TIMED_OUT, "not a frame of spank-tf" },
        { "D", 150, CLIENT_TIMED_OUT, "it does not answer" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        int port, listener = listener_at ("127.0.0.1", &port);
        pid_t server = start_server (listener, row[i].script);
        int descriptor = next_descriptor ();
        struct registration rank = some_rank ();
        struct client_answer answer;
        struct errtext err = { "" };
        struct address_text room;
        char message[160];

        assert_int_equal (register_at ("127.0.0.1", port, &rank, row[i].ms, &answer, &err), row[i].outcome);
        if (row[i].outcome == CLIENT_ANSWERED)
            check_answer (&answer);
        assert_int_equal (next_descriptor (), descriptor);
        snprintf (message, sizeof (message),
                  "the rendezvous, 127.0.0.1:%d, could not be "
                  "reached: %s",
                  port, row[i].message);
        assert_string_equal (err.text, row[i].outcome == CLIENT_TIMED_OUT ? message : row[i].message);
        assert_string_equal (address_print (&rank.address, &room), "127.0.0.1");
        assert_int_equal (end_of (server), 0);
    }
}

static void check_refused_connection (int port)
{
    struct registration rank = some_rank ();
    struct client_answer answer;
    struct errtext err;
    char message[160];

    assert_int_equal (register_at ("127.0.0.1", port, &rank, 600000, &answer, &err), CLIENT_NO_RENDEZVOUS);
    snprintf (message, sizeof (message),
              "no rendezvous listens on 127.0.0.1:%d: it or srun has "
              "ended, or srun could not start it (srun --async does not)",
              port);
    assert_string_equal (err.text, message);
}

TEST (connections_that_are_refused_for_two_seconds_fail)
{
    int port, listener = listener_at ("127.0.0.1", &port);

    close (listener);
    check_refused_connection (port);
}

/* As if the rendezvous' host refused connections for a moment. */
TEST (a_refused_connection_is_made_again)
{
    int port = 0, listener = bound_socket ("127.0.0.1", &port);
    struct registration rank = some_rank ();
    struct client_answer answer;
    pid_t server;
    struct errtext err;

    if ((server = fork ()) == 0) {
        nap (500);
        listen (listener, 0);
        serve_script (listener, "a");
    }
    close (listener);
    assert_int_equal (register_at ("127.0.0.1", port, &rank, 600000, &answer, &err), CLIENT_ANSWERED);
    check_answer (&answer);
    assert_int_equal (end_of (server), 0);
}

/* As if a firewall dropped packets. */
TEST (a_connection_that_is_never_accepted_times_out)
{
    int port = 0, listener = full_listener (&port), descriptor = next_descriptor ();
    struct registration rank = some_rank ();
    struct client_answer answer;
    struct errtext err;
    char message[160];

    assert_int_equal (register_at ("127.0.0.1", port, &rank, 300, &answer, &err), CLIENT_TIMED_OUT);
    assert_int_equal (next_descriptor (), descriptor);
    snprintf (message, sizeof (message),
              "the rendezvous, 127.0.0.1:%d, could not be reached: "
              "Connection timed out",
              port);
    assert_string_equal (err.text, message);
    close (listener);
}

TEST (the_client_reaches_the_rendezvous_by_ipv6)
{
    int port, listener = listener_at ("::1", &port);
    struct registration rank = some_rank ();
    struct client_answer answer;
    struct address_text room;
    pid_t server;

    if (listener < 0)
        SKIP ("this machine has no IPv6 loopback");
    server = start_server (listener, "a");
    assert_int_equal (register_at ("::1", port, &rank, 10000, &answer, NULL), CLIENT_ANSWERED);
    assert_string_equal (address_print (&rank.address, &room), "::1");
    check_answer (&answer);
    assert_int_equal (end_of (server), 0);
}
