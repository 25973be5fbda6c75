/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "uplink.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/silence.h"
#include "common/tcp.h"
#include "protocol/answer.h"
#include "protocol/order.h"
#include "protocol/reconnect.h"

/* Between two attempts to connect, doubled from one to the next. */
#define PAUSE_MIN_MS 200
#define PAUSE_MAX_MS 30000
#define PAUSE_REPORT_MS 5000        /* ... at most, while there is an exit report to deliver */
#define CONNECT_MS 10000
/* With spares: a node that is back before it is lost is to be known to be. */
#define PAUSE_CUT_OFF_MS 1000
/*
 * A refused connection means that the rendezvous has ended, or that a firewall is in the way. If
 * srun has ended too, Slurm ends this task within seconds, and a message would be useless: try once
 * more before UPLINK_GONE. Afterwards try every PAUSE_MAX_MS.
 */
#define REFUSED_MS 5000
/* TCP_USER_TIMEOUT: the connection is broken if sent data is not acknowledged for so long. */
#define IDLE_LOST_MS 60000
#define REPORT_LOST_MS 5000
/*
 * As long as the connection stands, the rendezvous is there, and answers as soon as it can. But one
 * that was stopped for good must not keep the task from its end.
 */
#define ANSWER_MS 600000
/* Without a connection that stands, the report is given up. */
#define REPORT_MS 60000
/*
 * ... by one that was cut off, which has ended its task. The message of slurmstepd that the supervisor has
 * ended would not reach srun, which does not get it later (Slurm 22.05 and 24.11), and would wait until the
 * time of the job is over.
 */
#define CUT_OFF_MS 3600000
/*
 * ... and after `wait` the next life: the rendezvous gives it up after five minutes, and may notice a minute
 * later that there is no connection.
 */
#define WAIT_MS 360000

struct uplink {
    enum { CONNECTED, CONNECTING, PAUSING, GONE } state;
    int fd;
    const struct supervisor_config *config;
    struct deadline next;           /* of the state */
    struct deadline stable;         /* a connection that lasts until then was not a failure */
    int pause_ms;
    bool refused;                   /* the last attempt */
    int connection;                 /* its number, from 1 */
    bool reported_gone;
    struct frame_reader reader;
    bool ended;                     /* the task has; then */
    struct exit_report report;
    struct life_report life;
    struct failure_text failure;
    struct deadline reported;       /* when the caller has said so */
    bool waiting;                   /* the rendezvous has answered `wait` */
    int next_life;
    int exit_code;
    struct frame *answer;           /* of an order to restart, or NULL */
    bool acknowledged;              /* the rendezvous has the report */
    struct deadline heard;          /* when the rendezvous' host was last there; with lost_after */
    bool cut_off;                   /* UPLINK_CUT_OFF has been returned since then */
    struct deadline give_up;        /* after the task's end, unless the connection stands */
};

/* Silence. */

static void _set_heard (struct uplink *u, int ago_ms)
{
    struct deadline heard = deadline_in_ms (-ago_ms);

    if (heard.at_ms <= u->heard.at_ms)
        return;
    u->heard = heard;
    u->cut_off = false;
}

/*
 * When the rendezvous' host is too long silent. If it refuses connections, it is there, and the rendezvous
 * is not.
 */
static struct deadline _silent_at (struct uplink *u)
{
    if (u->config->lost_after > 0 && u->state == CONNECTED)
        _set_heard (u, silence_ms (u->fd));
    if (u->config->lost_after == 0 || u->cut_off || u->refused || u->state == GONE)
        return deadline_never ();
    return (struct deadline){ u->heard.at_ms + u->config->lost_after * INT64_C (1000) };
}

static void _set_give_up (struct uplink *u, int ms)
{
    u->give_up = deadline_in_ms (u->cut_off ? CUT_OFF_MS : ms);
}

static void _pause (struct uplink *u)
{
    int longest_ms = u->config->lost_after ? PAUSE_CUT_OFF_MS : u->ended ? PAUSE_REPORT_MS : PAUSE_MAX_MS;

    if (u->fd >= 0 && u->state == CONNECTED)
        _set_heard (u, silence_ms (u->fd));
    if (u->fd >= 0)
        close (u->fd);
    u->fd = -1;
    frame_reader_clear (&u->reader);
    if (deadline_passed (u->stable)) {
        u->pause_ms = PAUSE_MIN_MS;
        _set_give_up (u, u->waiting ? WAIT_MS : REPORT_MS);
    }
    u->next = deadline_in_ms (u->pause_ms);
    u->pause_ms = 2 * u->pause_ms < longest_ms ? 2 * u->pause_ms : longest_ms;
    u->state = PAUSING;
}

/* There is an exit report to deliver. */
static bool _delivers (const struct uplink *u)
{
    return u->ended && !u->waiting && u->state != GONE;
}

/* give_up counts. */
static bool _gives_up (const struct uplink *u)
{
    return u->ended && (u->state == CONNECTING || u->state == PAUSING);
}

static void _set_connected (struct uplink *u)
{
    unsigned int lost_ms = _delivers (u) ? REPORT_LOST_MS : IDLE_LOST_MS;
    int half_ms = u->config->lost_after * 500;

    if (half_ms > 0)
        silence_watch (u->fd, u->config->lost_after, half_ms < (int)lost_ms ? half_ms : (int)lost_ms);
    else
        setsockopt (u->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, sizeof (lost_ms));
    u->next = _delivers (u) ? deadline_in_ms (ANSWER_MS) : deadline_never ();
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
        .ended = u->ended, .report = u->report, .life = u->life,
        .failure = u->failure,
    };
    /* clang-format on */

    if (u->ended)
        reconnect.life.ago_ms += deadline_ago_ms (u->reported);
    return _send (u, reconnect_encode (&reconnect));
}

/* An attempt to connect has failed with errno. */
static enum uplink_event _fail (struct uplink *u)
{
    bool refused = errno == ECONNREFUSED, again = u->refused;

    _pause (u);
    u->refused = refused;
    if (!refused)
        return UPLINK_NOTHING;
    _set_heard (u, 0);
    if (u->ended) {
        u->state = GONE;
        u->next = deadline_never ();
        return UPLINK_GONE;
    }
    u->next = deadline_in_ms (again ? PAUSE_MAX_MS : REFUSED_MS);
    if (!again || u->reported_gone)
        return UPLINK_NOTHING;
    u->reported_gone = true;
    return UPLINK_GONE;
}

static enum uplink_event _connect (struct uplink *u)
{
    int lost_after = u->config->lost_after;

    u->stable = deadline_never ();
    if ((u->fd = tcp_connect_begin (&u->config->address, u->config->port)) < 0)
        return _fail (u);
    u->next = deadline_in_ms (lost_after ? silence_interval (lost_after) * 1000 : CONNECT_MS);
    u->state = CONNECTING;
    return UPLINK_NOTHING;
}

/* connect () has succeeded or failed. */
static enum uplink_event _finish_connect (struct uplink *u)
{
    if ((errno = tcp_connect_end (u->fd)) != 0 || _send_reconnect (u) < 0)
        return _fail (u);
    if (u->waiting)
        u->give_up = deadline_in_ms (REPORT_MS);
    u->waiting = u->refused = u->reported_gone = false;
    u->connection++;
    u->stable = deadline_in_ms (PAUSE_MAX_MS);
    _set_heard (u, 0);
    _set_connected (u);
    return UPLINK_NOTHING;
}

/* It keeps a frame with an answer. */
static enum uplink_event _obey (struct uplink *u, struct frame **fp)
{
    const struct frame *frame = *fp;
    enum order order;

    if (order_decode (&order, frame, u->config->server_token, NULL) < 0) {
        _pause (u);
        return UPLINK_NOTHING;
    }
    if (order == ORDER_STOP)
        return order_is_at_once (frame) ? UPLINK_STOP_AT_ONCE : UPLINK_STOP;
    if (order == ORDER_TELL || order == ORDER_ABORT)
        return order == ORDER_TELL ? UPLINK_TELL : UPLINK_ABORT;
    if (!u->ended)
        return UPLINK_NOTHING;
    if (order == ORDER_WAIT) {
        u->waiting = true;
        u->stable = deadline_in_ms (0);
        _set_connected (u);
        return UPLINK_NOTHING;
    }
    u->next_life = order_life (frame);
    u->exit_code = order_exit_code (frame);
    u->acknowledged = order == ORDER_EXIT;
    if (answer_is_in (frame)) {
        u->answer = *fp;
        *fp = NULL;
    }
    return order == ORDER_EXIT ? UPLINK_EXIT : UPLINK_RESTART;
}

static enum uplink_event _receive (struct uplink *u)
{
    struct frame *frame = NULL;
    enum uplink_event event = UPLINK_NOTHING;
    int n = frame_read (&u->reader, u->fd, &frame, NULL);

    if (n > 0)
        event = _obey (u, &frame);
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
    /* An order to restart may have an answer. */
    u->reader.ceiling = config->restart.times ? FRAME_MAX_ANSWER : FRAME_MAX_ORDER;
    u->heard = deadline_in_ms (0);
    u->pause_ms = PAUSE_MIN_MS;
    u->connection = 1;
    u->stable = deadline_in_ms (0);
    tcp_keep_alive (fd);
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
    if (u->fd >= 0 && u->acknowledged)
        tcp_abort (u->fd);
    else if (u->fd >= 0)
        close (u->fd);      /* a reset would discard a report that has not arrived yet */
    frame_reader_clear (&u->reader);
    frame_destroy (u->answer);
    free (u);
}

struct deadline uplink_poll (struct uplink *u, struct pollfd *pfd)
{
    struct deadline next = deadline_min (u->next, _silent_at (u));

    *pfd = (struct pollfd){ .fd = u->fd, .events = u->state == CONNECTING ? POLLOUT : POLLIN };
    return _gives_up (u) ? deadline_min (next, u->give_up) : next;
}

enum uplink_event uplink_serve (struct uplink *u, short revents)
{
    bool late = deadline_passed (u->next);

    frame_destroy (u->answer);
    u->answer = NULL;
    if (deadline_passed (_silent_at (u))) {
        u->cut_off = true;
        _set_give_up (u, CUT_OFF_MS);
        return UPLINK_CUT_OFF;
    }
    if (_gives_up (u) && deadline_passed (u->give_up))
        return UPLINK_NO_ANSWER;
    switch (u->state) {
        case CONNECTED:
            if (revents)
                return _receive (u);
            return late ? UPLINK_NO_ANSWER : UPLINK_NOTHING;
        case CONNECTING:
            if (revents)
                return _finish_connect (u);
            errno = ETIMEDOUT;
            return late ? _fail (u) : UPLINK_NOTHING;
        case PAUSING: return late ? _connect (u) : UPLINK_NOTHING;
        case GONE: return UPLINK_GONE;
    }
    return UPLINK_NOTHING;
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
    u->waiting = false;
    u->report = *report;
    u->life = *life;
    u->failure = *failure;
    u->reported = deadline_in_ms (0);
    _set_give_up (u, REPORT_MS);
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

int uplink_tell (struct uplink *u, struct frame *frame)
{
    if (u->state != CONNECTED || u->ended) {
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

int uplink_life (const struct uplink *u)
{
    return u->next_life;
}

struct frame *uplink_answer (const struct uplink *u)
{
    return u->answer;
}

int uplink_exit_code (const struct uplink *u)
{
    return u->exit_code;
}

bool uplink_is_waiting (const struct uplink *u)
{
    return u->waiting;
}

void uplink_restarted (struct uplink *u)
{
    u->ended = u->waiting = false;
    if (u->state == CONNECTED)
        _set_connected (u);
}
