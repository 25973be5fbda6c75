/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "uplink.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/second.h"
#include "common/silence.h"
#include "common/tcp.h"
#include "protocol/answer.h"

/* Between two attempts to connect, doubled from one to the next. */
#define PAUSE_MIN_MS 200
#define PAUSE_MAX_MS 30000
#define PAUSE_REPORT_MS 5000        /* ... at most, while there is an exit report to deliver */
#define CONNECT_MS 10000
/* With spares: a node that is back before it is lost is to be known to be. */
#define PAUSE_CUT_OFF_MS 1000
/* The connection is broken if a report is not acknowledged for so long. */
#define REPORT_LOST_MS 5000

/* As far as the kernel knows, which asks with spares only (common/silence.h). */
static void _hear (struct uplink *u)
{
    int64_t now = deadline_in_ms (0).at_ms;
    int silent_ms = u->config->lost_after > 0 ? silence_ms (u->fd, NULL) : 0;

    if (u->state == UPLINK_UP && u->known && now - silent_ms > u->link.heard)
        u->link.heard = now - silent_ms;
}

struct link uplink_link (struct uplink *u)
{
    _hear (u);
    return u->link;
}

static void _set_stands (struct uplink *u, bool stands)
{
    u->link.stands = stands;
    u->link.since = deadline_in_ms (0).at_ms;
}

static void _pause (struct uplink *u)
{
    int longest_ms = u->config->lost_after ? PAUSE_CUT_OFF_MS : u->report ? PAUSE_REPORT_MS : PAUSE_MAX_MS;

    _hear (u);
    /* Its end without a reset says that this process is dead. */
    if (u->state == UPLINK_UP)
        tcp_abort (u->fd);
    else if (u->fd >= 0)
        close (u->fd);
    u->fd = -1;
    frame_reader_clear (&u->reader);
    if (deadline_passed (u->stable))
        u->pause_ms = PAUSE_MIN_MS;
    u->next = deadline_in_ms (u->pause_ms);
    u->pause_ms = 2 * u->pause_ms < longest_ms ? 2 * u->pause_ms : longest_ms;
    if (u->link.stands)
        _set_stands (u, false);
    u->state = UPLINK_PAUSING;
}

/* The rendezvous has not told that it has the report. */
static bool _awaits_answer (const struct uplink *u)
{
    return u->report && u->goal.report != u->report;
}

static void _set_connected (struct uplink *u)
{
    unsigned int lost_ms = _awaits_answer (u) ? REPORT_LOST_MS : TCP_BROKEN_MS;
    int half_ms = u->config->lost_after * 500;

    if (half_ms > 0)
        silence_watch (u->fd, u->config->lost_after, half_ms < (int)lost_ms ? half_ms : (int)lost_ms);
    else
        tcp_keep_alive (u->fd, lost_ms);
    u->next = deadline_never ();
    u->state = UPLINK_UP;
}

/* -1 if it cannot be sent. The frame may be NULL. */
static int _send (struct uplink *u, struct frame *frame)
{
    int rc = frame ? frame_send (frame, u->fd, NULL) : -1;

    frame_destroy (frame);
    return rc;
}

/* An attempt to connect has failed with errno. */
static void _fail (struct uplink *u)
{
    u->link.refused = errno == ECONNREFUSED;
    _pause (u);
}

static void _connect (struct uplink *u)
{
    int lost_after = u->config->lost_after;

    u->stable = deadline_never ();
    if ((u->fd = tcp_connect_begin (&u->config->address, u->config->port, true)) < 0) {
        _fail (u);
        return;
    }
    u->next = deadline_in_ms (lost_after ? silence_interval (lost_after) * 1000 : CONNECT_MS);
    u->state = UPLINK_CONNECTING;
}

/* connect () has succeeded or failed. What is there now is not known before it speaks. */
static enum uplink_event _finish_connect (struct uplink *u)
{
    if ((errno = tcp_connect_end (u->fd)) != 0) {
        _fail (u);
        return UPLINK_NOTHING;
    }
    u->fresh = true;
    u->known = u->link.refused = false;
    u->goal.report = 0;
    u->stable = deadline_in_ms (PAUSE_MAX_MS);
    _set_stands (u, true);
    _set_connected (u);
    return UPLINK_CONNECTED;
}

/* It keeps a frame with an answer. */
static enum uplink_event _take_goal (struct uplink *u, struct frame **fp)
{
    struct goal goal;

    if (goal_decode (&goal, *fp, u->config->server_token, NULL) < 0) {
        _pause (u);
        return UPLINK_NOTHING;
    }
    u->goal = goal;
    u->known = true;
    /* It may have come while this process was stopped: the next connection has it again. */
    _hear (u);
    if (u->config->lost_after > 0
        && deadline_in_ms (0).at_ms - u->link.heard >= u->config->lost_after * SECOND_MS) {
        _pause (u);
        return UPLINK_NOTHING;
    }
    if (u->report && !_awaits_answer (u)) {
        u->stable = deadline_in_ms (0);
        _set_connected (u);
    }
    if (frame_has (*fp, ANSWER_KEY)) {
        frame_destroy (u->answer);
        u->answer = *fp;
        *fp = NULL;
    }
    return UPLINK_GOAL;
}

static enum uplink_event _receive (struct uplink *u)
{
    enum uplink_event event = UPLINK_NOTHING;
    struct frame *frame = NULL;
    int n = frame_read (&u->reader, u->fd, &frame, NULL);

    if (n > 0)
        event = _take_goal (u, &frame);
    else if (n < 0)
        _pause (u);
    frame_destroy (frame);
    return event;
}

struct uplink *uplink_create (int fd, const struct supervisor_config *config, struct errtext *err)
{
    struct uplink *u = calloc (1, sizeof (*u));

    if (!u) {
        errtext_set (err, "%s", strerror (ENOMEM));
        return NULL;
    }
    u->fd = fd;
    u->config = config;
    /* A goal may have an answer. */
    u->reader.ceiling = FRAME_MAX_ANSWER;
    u->link = (struct link){ .heard = deadline_in_ms (0).at_ms };
    u->known = true;
    _set_stands (u, true);
    u->pause_ms = PAUSE_MIN_MS;
    u->stable = deadline_in_ms (0);
    if (fcntl (fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
        _pause (u);
    else
        _set_connected (u);
    return u;
}

void uplink_destroy (struct uplink *u)
{
    if (!u)
        return;
    if (u->fd >= 0 && u->goal.leave)
        tcp_abort (u->fd);
    else if (u->fd >= 0)
        close (u->fd);      /* a reset would discard a report that has not arrived yet */
    frame_reader_clear (&u->reader);
    frame_destroy (u->answer);
    free (u);
}

struct deadline uplink_poll (const struct uplink *u, struct pollfd *pfd)
{
    *pfd = (struct pollfd){ .fd = u->fd, .events = u->state == UPLINK_CONNECTING ? POLLOUT : POLLIN };
    return u->next;
}

enum uplink_event uplink_serve (struct uplink *u, short revents)
{
    bool late = deadline_passed (u->next);

    if (u->state == UPLINK_UP && revents)
        return _receive (u);
    if (u->state == UPLINK_CONNECTING && revents)
        return _finish_connect (u);
    if (u->state == UPLINK_CONNECTING && late) {
        errno = ETIMEDOUT;
        _fail (u);
    } else if (u->state == UPLINK_PAUSING && late)
        _connect (u);
    return UPLINK_NOTHING;
}

static int _send_status (struct uplink *u, const struct status *status)
{
    const struct supervisor_config *c = u->config;
    struct frame *frame = u->fresh ? status_encode_first (status, c->token, c->node, c->rank)
                                   : fields_frame (&status_fields, status);

    u->fresh = false;
    return _send (u, frame);
}

void uplink_tell (struct uplink *u, const struct status *status)
{
    int report = status->ended ? status->life.number : 0;
    bool is_new = report != u->report;

    u->report = report;
    if (u->state == UPLINK_UP) {
        if (is_new)
            _set_connected (u);
        if (_send_status (u, status) < 0)
            _pause (u);
    }
    /* A report does not wait for the end of a pause. */
    if (u->state == UPLINK_PAUSING && is_new && report) {
        u->pause_ms = PAUSE_MIN_MS;
        u->next = deadline_in_ms (0);
    }
}

void uplink_restarted (struct uplink *u)
{
    u->report = 0;
    if (u->state == UPLINK_UP)
        _set_connected (u);
}
