/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/number.h"
#include "common/second.h"
#include "notify_message.h"

/* Of the longest silence, so much is between two looks. */
#define LOOKS 20
#define STEP_MIN_MS 100
#define STEP_MAX_MS 5000
/*
 * A process may send as many messages as it likes, and so may any other user of the node. So they are not
 * read more often than this, and not more of them at a time. A sender whose message does not fit into the
 * socket waits as long as this, or drops it.
 */
#define READ_PAUSE_MS 100
#define READ_MOST 1024

/* How many messages wait on a socket at most, and what Linux takes for that if nothing else is set. */
#define QUEUE_FILE "/proc/sys/net/unix/max_dgram_qlen"
#define QUEUE_DEFAULT 10

/*
 * The first message comes before the first step, which a framework compiles: that takes longer than any
 * other.
 */
#define MESSAGES_LEAST 2

/*
 * A program reports new training steps all the time. The first one of a life, and the first one above all
 * lives before, are told at once; others after a hundredth of the life's age, so that what is
 * made of them is one percent off at most. In a step of many tasks supervisors take turns with these, and all
 * of them together tell as much as some.
 */
#define TELL_PARTS 100
#define TELL_MIN_MS 1000
#define TELL_MAX_MS 30000

/* So often, and over this part of the longest silence (auto: of FIRST), a log grows until it counts. */
#define GROWTHS_LEAST 5
#define GROWING_PART 4

/*
 * What --tf-watchdog=auto learns from. Checkpoints and evaluations are in it, and after two of them
 * it is forgotten.
 */
#define WINDOW_MS INT64_C (21600000)

static int64_t _time_ms (void)
{
    return deadline_in_ms (0).at_ms;
}

static int _bounded (int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

static int _queue_length (void)
{
    FILE *f = fopen (QUEUE_FILE, "re");
    char text[16] = "";
    int length;

    if (f && fgets (text, sizeof (text), f))
        text[strcspn (text, "\n")] = '\0';
    if (f)
        fclose (f);
    return number_parse (&length, text, 1, INT_MAX) == 0 ? length : QUEUE_DEFAULT;
}

void watch_init (struct watch *w, const struct supervisor_config *c, int fd, struct log_growth *log)
{
    int step_ms = c->watch.seconds < STEP_MAX_MS ? c->watch.seconds * (1000 / LOOKS) : STEP_MAX_MS;

    *w =
        (struct watch){ .rule = c->watch, .fd = -1, .step_ms = _bounded (step_ms, STEP_MIN_MS, STEP_MAX_MS) };
    if (w->rule.seconds == 0 || c->spare)
        return;
    w->fd = fd;
    w->queue = _queue_length ();
    w->turns = w->rule.turns > 1 ? w->rule.turns : 1;
    w->turn = c->rank % w->turns;
    /* What only serves prints when it starts, and then never again. */
    w->log = c->serves ? NULL : log;
}

/* Reading. */

struct message {
    char bytes[NOTIFY_MESSAGE_MAX];
    size_t length;
    bool own;                   /* it is of this user */
};

/* Has a process of this user sent it? The kernel says so (SO_PASSCRED). */
static bool _is_own (struct msghdr *header)
{
    struct cmsghdr *c = CMSG_FIRSTHDR (header);
    struct ucred sender;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
        return false;
    memcpy (&sender, CMSG_DATA (c), sizeof (sender));
    return sender.uid == geteuid ();
}

/*
 * False if there is none. The kernel closes descriptors for which there is no room, which is what
 * sd_notify_barrier (3) waits for. Only this user can send any (watch_socket.h).
 */
static bool _read_message (int fd, struct message *message)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE (sizeof (struct ucred))];
    } control;
    struct iovec iov = { message->bytes, sizeof (message->bytes) };
    struct msghdr header = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof (control)
    };
    ssize_t n = recvmsg (fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return false;
    message->length = (size_t)n;
    message->own = _is_own (&header);
    return true;
}

void watch_discard (const struct watch *w)
{
    static struct message message; /* not a page of the stack */

    for (int i = 0; w->fd >= 0 && i <= w->queue && _read_message (w->fd, &message); i++)
        ;
}

void watch_begin (struct watch *w)
{
    w->lives = true;
    w->runs = w->judged = w->log_grew = w->done = w->asked = w->flooded = w->paused = false;
    /* auto: what is known of the program is true of its next life. */
    w->has_log = w->has_log && w->rule.learns;
    w->highest = w->step > w->highest ? w->step : w->highest;
    w->messages = w->growths = w->step = w->told_step = 0;
    w->age_ms = w->sign_ms = w->second_ms = w->pause_ms = 0;
    w->looked_ms = w->read_ms = w->sign_at_ms = _time_ms ();
    w->status[0] = '\0';
    w->told_source = SIGNS_UNKNOWN;
    w->told_overdue = false;
    w->step_due_ms = w->aside_due_ms = 0;
    w->aside_step = 0;
}

static int64_t _silence (const struct watch *w)
{
    return w->age_ms - w->sign_ms;
}

static void _learn (struct watch *w, int64_t silence)
{
    if (!w->rule.learns)
        return;
    if (_time_ms () - w->window_ms >= WINDOW_MS) {
        w->slowest_ms[1] = w->slowest_ms[0];
        w->slowest_ms[0] = 0;
        w->window_ms = _time_ms ();
    }
    if (silence > w->slowest_ms[0])
        w->slowest_ms[0] = silence;
}

static void _sign (struct watch *w)
{
    w->sign_ms = w->age_ms;
    w->sign_at_ms = _time_ms ();
}

/* Messages. */

static void _take_message (struct watch *w, const char *bytes, size_t length)
{
    struct notify_message message;

    notify_message_parse (&message, bytes, length);
    if (message.has_status)
        memcpy (w->status, message.status, sizeof (w->status));
    if (message.step > w->step)
        w->step = message.step;
    if (message.alive) {
        w->sends = true;
        w->done = w->asked = false;
        w->messages += w->messages < SIGNS_MAX_MS;
        if (w->messages == MESSAGES_LEAST && w->rule.learns)
            w->second_ms = w->age_ms;
        else if (w->messages > MESSAGES_LEAST)
            _learn (w, _silence (w));
        _sign (w);
    }
    if (message.stopping)
        w->done = true;
}

static void _read (struct watch *w)
{
    int all = 0, others = 0;
    static struct message message; /* not a page of the stack */

    if (w->fd < 0 || _time_ms () < w->read_ms + READ_PAUSE_MS)
        return;
    while (all < READ_MOST && _read_message (w->fd, &message)) {
        all++;
        if (message.own)
            _take_message (w, message.bytes, message.length);
        else
            others++;
    }
    if (all > 0)
        w->read_ms = _time_ms ();
    /* Other users had more than half of the queue: it may have been full at any time before. */
    w->flooded = others > w->queue / 2 || (all == READ_MOST && others > 0);
}

/* What the program said last may not have been read, nor may its exec () have been seen. */
void watch_end (struct watch *w)
{
    w->read_ms = 0;
    if (w->lives)
        _read (w);
    w->lives = false;
}

/* Time. */

/*
 * The time since the last look. Not what this process has missed, because it was suspended, with the task;
 * nor what a file system has, while the log is all that is known of a task.
 */
static void _count (struct watch *w)
{
    int64_t now = _time_ms (), passed = now - w->looked_ms, most = INT64_C (2) * w->step_ms;

    w->looked_ms = now;
    if (!w->flooded && !w->paused && (w->sends || !log_growth_hangs (w->log)))
        w->age_ms += passed < most ? passed : most;
}

static bool _is_silent (const struct watch *w)
{
    return _silence (w) >= w->rule.seconds * SECOND_MS;
}

/* The program has had its time for the first sign. */
static bool _is_old (const struct watch *w)
{
    return w->age_ms >= w->rule.first * SECOND_MS;
}

/* The longest silence of a log that counts, as far as it is known: auto learns SECONDS from such logs. */
static int64_t _longest_ms (const struct watch *w)
{
    int seconds = w->rule.learns && w->rule.first > w->rule.seconds ? w->rule.first : w->rule.seconds;

    return seconds * SECOND_MS;
}

static void _note_growth (struct watch *w)
{
    if (w->growths > 0 && _silence (w) > w->pause_ms)
        w->pause_ms = _silence (w);
    if (w->growths == 0 || _silence (w) >= _longest_ms (w)) {
        w->growths = 0;
        w->growing_ms = w->age_ms;
    }
    if (w->growths == 0 || w->age_ms - w->grew_ms >= _longest_ms (w) / LOOKS) {
        w->growths += w->growths < GROWTHS_LEAST;
        w->grew_ms = w->age_ms;
    }
    w->has_log =
        w->has_log
        || (w->growths == GROWTHS_LEAST && w->age_ms - w->growing_ms >= _longest_ms (w) / GROWING_PART);
    if (w->has_log) {
        _learn (w, w->pause_ms);
        w->pause_ms = 0;
    }
    w->log_grew = true;
    w->asked = false;
    _sign (w);
}

static enum signs_source _source (const struct watch *w)
{
    if (w->rule.seconds == 0)
        return SIGNS_NONE;
    if (w->done || w->asked)
        return SIGNS_DONE;
    if (w->sends)
        return SIGNS_MESSAGES;
    if (w->rule.learns ? !w->has_log && _silence (w) < _longest_ms (w) : !w->judged)
        return SIGNS_UNKNOWN;
    return w->has_log ? SIGNS_LOG : SIGNS_NONE;
}

static bool _is_overdue (const struct watch *w)
{
    enum signs_source source = _source (w);

    if (source == SIGNS_LOG)
        return _is_silent (w);
    return source == SIGNS_MESSAGES && _is_silent (w)
           && (w->messages >= MESSAGES_LEAST || w->rule.learns || _is_old (w));
}

struct deadline watch_poll (const struct watch *w, struct pollfd *pfd)
{
    int64_t next = w->looked_ms + w->step_ms;

    *pfd = (struct pollfd){ .fd = -1, .events = POLLIN };
    if (w->rule.seconds == 0 || !w->lives)
        return deadline_never ();
    if (w->fd >= 0 && _time_ms () < w->read_ms + READ_PAUSE_MS) {
        if (w->read_ms + READ_PAUSE_MS < next)
            next = w->read_ms + READ_PAUSE_MS;
    } else
        pfd->fd = w->fd;
    return (struct deadline){ .at_ms = next };
}

void watch_look (struct watch *w, bool executed)
{
    if (w->rule.seconds == 0 || !w->lives)
        return;
    if (!w->runs) {
        w->runs = executed;
        w->looked_ms = w->sign_at_ms = _time_ms ();
        /* What is sent before waits, and is no reason to look all the time. */
        if (!executed)
            w->read_ms = w->looked_ms;
        log_growth_seen (w->log);
        if (!w->runs)
            return;
    }
    _count (w);
    _read (w);
    /* What waits for a collective may print, again and again, that it waits. */
    if (log_growth_seen (w->log) && !w->sends)
        _note_growth (w);
    if (!w->rule.learns && !w->judged && _is_old (w)) {
        w->judged = true;
        w->has_log = w->has_log || (w->log_grew && !_is_silent (w)) || (w->log && w->rule.given);
    }
}

/* What to tell. */

static bool _has_step (const struct watch *w)
{
    return w->step > w->told_step
           && (w->told_step == 0 || (w->step > w->highest && w->told_step <= w->highest)
               || _time_ms () >= w->step_due_ms);
}

/* Call it before the step counts as told. The first one of all tasks comes at the same time: turns begin. */
static void _set_step_due (struct watch *w)
{
    int64_t part = w->age_ms / TELL_PARTS;
    int64_t pause = part < TELL_MIN_MS ? TELL_MIN_MS : part < TELL_MAX_MS ? part : TELL_MAX_MS;

    if (w->told_step == 0 && w->step > 0)
        w->step_due_ms = _time_ms () + pause * (w->turn + 1);
    else if (_time_ms () >= w->step_due_ms)
        w->step_due_ms = _time_ms () + pause * w->turns;
}

bool watch_has_news (const struct watch *w)
{
    return w->runs && (_source (w) != w->told_source || _is_overdue (w) != w->told_overdue || _has_step (w));
}

void watch_told (struct watch *w)
{
    w->told_source = _source (w);
    w->told_overdue = _is_overdue (w);
    _set_step_due (w);
    w->told_step = w->step;
}

/* The first ones of all tasks come at the same time, and these do not. */
bool watch_tells_aside (struct watch *w)
{
    int64_t now = _time_ms ();
    int step = w->told_step > w->aside_step ? w->told_step : w->aside_step;

    if (w->turns <= 1 || !w->runs || w->step <= step || w->told_step == 0)
        return false;
    if (w->aside_due_ms == 0)
        w->aside_due_ms = now + TELL_MAX_MS * (w->turn + 1) / w->turns;
    if (now < w->aside_due_ms)
        return false;
    w->aside_due_ms = now + TELL_MAX_MS;
    w->aside_step = w->step;
    return true;
}

static int _ms (int64_t ms)
{
    return ms < 0 ? 0 : ms > SIGNS_MAX_MS ? SIGNS_MAX_MS : (int)ms;
}

struct signs watch_signs (const struct watch *w)
{
    struct signs signs = {
        .source = _source (w),
        .overdue = _is_overdue (w),
        .messages = w->messages,
        .log_grew = w->log_grew,
        .slowest_ms = _ms (w->slowest_ms[0] > w->slowest_ms[1] ? w->slowest_ms[0] : w->slowest_ms[1]),
        .second_ms = _ms (w->second_ms),
        .step = w->step,
        .silent_ms = _ms (_silence (w)),
        .ago_ms = _ms (_time_ms () - w->sign_at_ms),
    };

    memcpy (signs.status, w->status, sizeof (signs.status));
    return signs;
}
