/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rank.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "connection.h"

/* A connection that broke is dialled again after a breath. */
#define REDIAL_MS 200

static void _add_interfaces (struct frame *frame, const struct rank *rank)
{
    for (int i = 0; i < rank->interfaces; i++) {
        const struct interface *interface = &rank->interface[i];
        struct interface_text room;

        frame_add (frame, "INTERFACE", "%s%s%s", interface_print (interface, &room),
                   interface->near ? " " : "", interface->near ? interface->near : "");
    }
}

struct frame *rank_encode (const struct rank *rank, const char *token)
{
    struct frame *frame = frame_create ();
    struct address_text room;

    if (!frame)
        return NULL;
    frame_add (frame, "TOKEN", "%s", token);
    frame_add (frame, "RELEASE", "%s", PACKAGE_VERSION);
    frame_add (frame, "NODE", "%s", rank->node);
    frame_add (frame, "STEP", "%s", rank->step);
    frame_add (frame, "RANK", "%d", rank->rank);
    frame_add (frame, "TASKS", "%d", rank->tasks);
    frame_add (frame, "COMPONENT_FIRST", "%d", rank->component_first);
    frame_add (frame, "COMPONENT_TASKS", "%d", rank->component_tasks);
    frame_add (frame, "NODE_INDEX", "%d", rank->node_index);
    frame_add (frame, "HOST", "%s", rank->host.id);
    frame_add (frame, "ADDRESS", "%s", address_print (&rank->address, &room));
    if (rank->error)
        frame_add (frame, "ERROR", "%s", rank->error);
    else
        frame_add (frame, "PORT", "%d", rank->port);
    if (rank->no_supervisor)
        frame_add (frame, "NO_SUPERVISOR", "%s", rank->no_supervisor);
    if (rank->log_dir)
        frame_add (frame, "LOG_DIR", "%s", rank->log_dir);
    if (rank->proxied)
        frame_add (frame, "PROXIED", "1");
    if (rank->node_ranks)
        frame_add (frame, "NODE_RANKS", "%s", rank->node_ranks);
    if (rank->step_nodes)
        frame_add (frame, "STEP_NODES", "%s", rank->step_nodes);
    if (rank->step_node_tasks)
        frame_add (frame, "STEP_NODE_TASKS", "%s", rank->step_node_tasks);
    if (rank->cpus)
        frame_add (frame, "CPUS", "%s", rank->cpus);
    if (rank->near_error)
        frame_add (frame, "NEAR_ERROR", "%s", rank->near_error);
    _add_interfaces (frame, rank);
    return frame;
}

static bool _number (int *number, const struct frame *frame, const char *key, long low, long high)
{
    return (*number = (int)frame_get_number (frame, key, low, high)) >= 0;
}

static int _decode_interfaces (struct rank *rank, const struct frame *frame)
{
    static const char key[] = "INTERFACE=";

    for (const char *s = frame_next (frame, NULL); s; s = frame_next (frame, s)) {
        if (strncmp (s, key, sizeof (key) - 1) != 0)
            continue;
        if (rank->interfaces == INTERFACE_MAX
            || interface_parse (&rank->interface[rank->interfaces], s + sizeof (key) - 1) < 0)
            return -1;
        rank->interfaces++;
    }
    return 0;
}

int rank_decode (struct rank *rank, const struct frame *frame, struct errtext *err)
{
    const char *host = frame_get (frame, "HOST");
    const char *address = frame_get (frame, "ADDRESS");

    memset (rank, 0, sizeof (*rank));
    rank->node = frame_get (frame, "NODE");
    rank->step = frame_get (frame, "STEP");
    rank->error = frame_get (frame, "ERROR");
    rank->no_supervisor = frame_get (frame, "NO_SUPERVISOR");
    rank->log_dir = frame_get (frame, "LOG_DIR");
    rank->proxied = frame_get (frame, "PROXIED") != NULL;
    rank->node_ranks = frame_get (frame, "NODE_RANKS");
    rank->step_nodes = frame_get (frame, "STEP_NODES");
    rank->step_node_tasks = frame_get (frame, "STEP_NODE_TASKS");
    if (!rank->node || strlen (rank->node) > RANK_MAX_NODE || !rank->step
        || strlen (rank->step) > RANK_MAX_STEP || !host
        || strlen (host) >= sizeof (rank->host.id) || !address
        || address_parse (&rank->address, address) < 0)
        return errtext_set (err, "a registration without its node, step, host or address");
    snprintf (rank->host.id, sizeof (rank->host.id), "%s", host);
    if (!_number (&rank->tasks, frame, "TASKS", 1, RANK_MAX)
        || !_number (&rank->rank, frame, "RANK", 0, rank->tasks - 1)
        || !_number (&rank->component_tasks, frame, "COMPONENT_TASKS", 1, rank->tasks)
        || !_number (&rank->component_first, frame, "COMPONENT_FIRST", 0,
                     rank->tasks - rank->component_tasks)
        || rank->rank < rank->component_first
        || rank->rank >= rank->component_first + rank->component_tasks
        || !_number (&rank->node_index, frame, "NODE_INDEX", 0, rank->tasks - 1))
        return errtext_set (err, "a registration whose numbers are out of range");
    rank->cpus = frame_get (frame, "CPUS");
    rank->near_error = frame_get (frame, "NEAR_ERROR");
    if (_decode_interfaces (rank, frame) < 0)
        return errtext_set (err, "a registration with an interface that is none");
    if (!rank->error && !_number (&rank->port, frame, "PORT", 1, 65535))
        return errtext_set (err, "a registration without a port");
    return 0;
}

/* 1 when the descriptor is ready, 0 when the deadline passed. */
static int _wait (int fd, short events, struct deadline deadline)
{
    struct pollfd pfd = { .fd = fd, .events = events };

    for (;;) {
        int n = poll (&pfd, 1, deadline_left_ms (deadline));

        if (n > 0)
            return 1;
        if (n == 0 && deadline_passed (deadline))
            return 0;
    }
}

/* A connected, non-blocking socket; -1 and errno, ETIMEDOUT when the deadline passed. */
static int _dial (const struct address *srun, int port, struct deadline deadline)
{
    struct sockaddr_storage ss;
    socklen_t len = address_sockaddr (srun, port, &ss);
    int fd = socket (srun->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    socklen_t error_len = sizeof (error);

    if (fd < 0)
        return -1;
    connection_keep_alive (fd);
    connection_acknowledge_late (fd);
    if (connect (fd, (struct sockaddr *)&ss, len) == 0)
        return fd;
    if (errno != EINPROGRESS)
        error = errno;
    else if (!_wait (fd, POLLOUT, deadline))
        error = ETIMEDOUT;
    else
        getsockopt (fd, SOL_SOCKET, SO_ERROR, &error, &error_len);
    if (error) {
        close (fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* 1 and *answer; 0 when the deadline passed; -1 when the connection broke. */
static int _receive (int fd, struct deadline deadline, struct frame **answer, struct errtext *err)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_ANSWER };
    int n;

    do {
        if (!_wait (fd, POLLIN, deadline)) {
            n = 0;
            break;
        }
        n = frame_read (&reader, fd, answer, err);
    } while (n == 0);
    frame_reader_clear (&reader);
    return n;
}

static int _exchange (int fd, struct rank *rank, const char *token, struct deadline deadline,
                      struct frame **answer, struct errtext *err)
{
    struct frame *frame;
    int rc;

    /* Connecting has undone it. */
    connection_acknowledge_late (fd);
    if (address_local (&rank->address, fd) < 0 || !(frame = rank_encode (rank, token)))
        return errtext_set (err, "%s", strerror (errno));
    rc = frame_send (frame, fd, err);
    frame_destroy (frame);
    return rc < 0 ? -1 : _receive (fd, deadline, answer, err);
}

/* The connection is kept with an answer alone. */
static enum rank_outcome _judge (struct frame **answer, int *fd, const char *proof,
                                 struct errtext *err)
{
    const char *shown = frame_get (*answer, "PROOF");

    if (shown && strcmp (shown, proof) == 0)
        return frame_get (*answer, "REFUSED") ? RANK_REFUSED : RANK_ANSWERED;
    frame_destroy (*answer);
    *answer = NULL;
    close (*fd);
    *fd = -1;
    errtext_set (err, "who answers there is not this step's rendezvous");
    return RANK_NOBODY;
}

enum rank_outcome rank_register (struct rank *rank, const struct rendezvous *rendezvous,
                                 const struct address *srun, struct deadline deadline,
                                 struct frame **answer, int *fd, struct errtext *err)
{
    const struct timespec breath = { .tv_nsec = REDIAL_MS * 1000000L };
    struct errtext why = { "it does not answer" };
    struct address_text room;

    *answer = NULL;
    *fd = -1;
    address_print_port (srun, rendezvous->port, &room);
    while (!deadline_passed (deadline)) {
        int n = -1;

        *fd = _dial (srun, rendezvous->port, deadline);
        if (*fd < 0 && errno == ECONNREFUSED) {
            errtext_set (err, "nobody is at the rendezvous, %s: it or srun has ended, or "
                         "srun could not start it (srun --async does not)", room.text);
            return RANK_NOBODY;
        }
        if (*fd < 0)
            errtext_set (&why, "%s", strerror (errno));
        else
            n = _exchange (*fd, rank, rendezvous->token, deadline, answer, &why);
        if (n == 1)
            return _judge (answer, fd, rendezvous->proof, err);
        if (*fd >= 0)
            close (*fd);
        *fd = -1;
        if (n < 0)
            nanosleep (&breath, NULL);
    }
    errtext_set (err, "the rendezvous, %s, could not be reached: %s", room.text, why.text);
    return RANK_LATE;
}
