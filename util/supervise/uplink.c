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

#include "common/silence.h"
#include "common/tcp.h"
#include "protocol/answer.h"
#include "protocol/reconnect.h"

/* Between two attempts to connect, doubled from one to the next. */
#define PAUSE_MIN_MS 200
#define PAUSE_MAX_MS 30000
#define PAUSE_REPORT_MS 5000        /* ... at most, while there is an exit report to deliver */
#define CONNECT_MS 10000
/* With spares: a node that is back before it is lost is to be known to be. */
#define PAUSE_CUT_OFF_MS 1000
/* The connection is broken if a report is not acknowledged for so long. */
#define REPORT_LOST_MS 5000
struct uplink {
    enum { CONNECTED, CONNECTING, PAUSING } state;
    int fd;
    const struct supervisor_config *config;
    struct deadline next;           /* of the state */
    struct deadline stable;         /* a connection that lasts until then was not a failure */
    int pause_ms;
    struct link link;
    bool known;                     /* what is connected has the server's token */
    int connection;                 /* its number, from 1 */
    bool suspended;                 /* Slurm is suspending the job */
    struct frame_reader reader;
    bool ended;                     /* the task has; then */
    struct exit_report report;
    struct life_report life;
    struct failure_text failure;
    struct deadline reported;       /* when the caller has said so */
    struct goal goal;               /* the last */
    struct frame *answer;           /* that came with one, or NULL */
};

/* As far as the kernel knows, which asks with spares only (common/silence.h). */
static void _hear (struct uplink *u)
{
    int64_t now = deadline_in_ms (0).at_ms;
    int silent_ms = u->config->lost_after > 0 ? silence_ms (u->fd) : 0;

    if (u->state == CONNECTED && u->known && now - silent_ms > u->link.heard)
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
    int longest_ms = u->config->lost_after ? PAUSE_CUT_OFF_MS : u->ended ? PAUSE_REPORT_MS : PAUSE_MAX_MS;

    _hear (u);
    /* Its end without a reset says that this process is dead. */
    if (u->state == CONNECTED)
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
    u->state = PAUSING;
}

/* The rendezvous has not told that it has the report. */
static bool _awaits_answer (const struct uplink *u)
{
    return u->ended && u->goal.report != u->life.number;
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
    u->state = CONNECTED;
}

/* -1 if it cannot be sent. The frame may be NULL. */
static int _send (struct uplink *u, struct frame *frame)
{
    int rc = frame ? frame_send (frame, u->fd, NULL) : -1;

    frame_destroy (frame);
    return rc;
}

static int _send_reconnect (struct uplink *u)
{
    /* clang-format off */
    struct reconnect reconnect = {
        .token = u->config->token, .node = u->config->node, .rank = u->config->rank,
        .suspended = u->suspended, .ended = u->ended, .report = u->report, .life = u->life,
        .failure = u->failure,
    };
    /* clang-format on */

    if (u->ended)
        reconnect.life.ago_ms += deadline_ago_ms (u->reported);
    return _send (u, reconnect_encode (&reconnect));
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
    if ((u->fd = tcp_connect_begin (&u->config->address, u->config->port)) < 0) {
        _fail (u);
        return;
    }
    u->next = deadline_in_ms (lost_after ? silence_interval (lost_after) * 1000 : CONNECT_MS);
    u->state = CONNECTING;
}

/* connect () has succeeded or failed. What is there now is not known before it speaks. */
static void _finish_connect (struct uplink *u)
{
    if ((errno = tcp_connect_end (u->fd)) != 0 || _send_reconnect (u) < 0) {
        _fail (u);
        return;
    }
    u->known = u->link.refused = false;
    u->goal.report = 0;
    u->connection++;
    u->stable = deadline_in_ms (PAUSE_MAX_MS);
    _set_stands (u, true);
    _set_connected (u);
}

/* It keeps a frame with an answer. True if it is a goal. */
static bool _take_goal (struct uplink *u, struct frame **fp)
{
    struct goal goal;

    if (goal_decode (&goal, *fp, u->config->server_token, NULL) < 0) {
        _pause (u);
        return false;
    }
    u->goal = goal;
    u->known = true;
    u->link.heard = deadline_in_ms (0).at_ms;
    if (u->ended && !_awaits_answer (u)) {
        u->stable = deadline_in_ms (0);
        _set_connected (u);
    }
    if (answer_is_in (*fp)) {
        frame_destroy (u->answer);
        u->answer = *fp;
        *fp = NULL;
    }
    return true;
}

static bool _receive (struct uplink *u)
{
    struct frame *frame = NULL;
    bool told = false;
    int n = frame_read (&u->reader, u->fd, &frame, NULL);

    if (n > 0)
        told = _take_goal (u, &frame);
    else if (n < 0)
        _pause (u);
    frame_destroy (frame);
    return told;
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
    u->reader.ceiling = config->restart.times ? FRAME_MAX_ANSWER : FRAME_MAX_ORDER;
    u->link = (struct link){ .heard = deadline_in_ms (0).at_ms };
    u->known = true;
    _set_stands (u, true);
    u->pause_ms = PAUSE_MIN_MS;
    u->connection = 1;
    u->stable = deadline_in_ms (0);
    tcp_keep_alive (fd, TCP_BROKEN_MS);
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
    *pfd = (struct pollfd){ .fd = u->fd, .events = u->state == CONNECTING ? POLLOUT : POLLIN };
    return u->next;
}

bool uplink_serve (struct uplink *u, short revents)
{
    bool late = deadline_passed (u->next);

    if (u->state == CONNECTED && revents)
        return _receive (u);
    if (u->state == CONNECTING && revents)
        _finish_connect (u);
    else if (u->state == CONNECTING && late) {
        errno = ETIMEDOUT;
        _fail (u);
    } else if (u->state == PAUSING && late)
        _connect (u);
    return false;
}

/* The exit report with its parts. NULL if there is no memory. */
static struct frame *_encode_report (const struct uplink *u)
{
    struct frame *frame = exit_report_encode (&u->report);

    if (frame) {
        life_report_add (frame, &u->life);
        failure_text_add (frame, &u->failure);
    }
    return frame;
}

void uplink_report (struct uplink *u, const struct exit_report *report, const struct life_report *life,
                    const struct failure_text *failure)
{
    u->ended = true;
    u->report = *report;
    u->life = *life;
    u->failure = *failure;
    u->reported = deadline_in_ms (0);
    if (u->state == CONNECTED) {
        _set_connected (u);
        if (_send (u, _encode_report (u)) < 0)
            _pause (u);
    }
    /* A report does not wait for the end of a pause. */
    if (u->state == PAUSING) {
        u->pause_ms = PAUSE_MIN_MS;
        u->next = deadline_in_ms (0);
    }
}

void uplink_set_suspended (struct uplink *u, bool suspended)
{
    u->suspended = suspended;
}

bool uplink_is_suspended (const struct uplink *u)
{
    return u->suspended;
}

int uplink_tell (struct uplink *u, struct frame *frame)
{
    if (u->state != CONNECTED) {
        frame_destroy (frame);
        return 0;
    }
    if (_send (u, frame) == 0)
        return u->connection;
    _pause (u);
    return 0;
}

int uplink_connection (const struct uplink *u)
{
    return u->connection;
}

const struct goal *uplink_goal (const struct uplink *u)
{
    return &u->goal;
}

struct frame *uplink_take_answer (struct uplink *u)
{
    struct frame *answer = u->answer;

    u->answer = NULL;
    return answer;
}

void uplink_restarted (struct uplink *u)
{
    u->ended = false;
    if (u->state == CONNECTED)
        _set_connected (u);
}
