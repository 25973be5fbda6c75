/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "reply.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/tasklist.h"
#include "jobs.h"

#define NAMES_OF_SOCKETS "/proc/net/unix"

/* A tf-rendezvous that was asked a moment ago takes 0.2 s, and the askers before this one some more. */
#define REPLY_MS 5000
/* Between two attempts to connect, if too many others do. */
#define AGAIN_MS 50
/* Root gives each user so much time in one round, and so much memory for an answer, and for all. */
#define MOST_MS 10000
#define MOST_BYTES ((size_t)64 * 1024 * 1024)
/* ... each of which counts so much at least: Slurm is asked whose job that is. */
#define LEAST_BYTES (MOST_BYTES / 256)

/* Which there are. */

static bool _has (const struct reply_source *list, int count, const struct reply_source *source)
{
    for (int i = 0; i < count; i++)
        if (list[i].number == source->number && list[i].uid == source->uid)
            return true;
    return false;
}

/* The last word of a line, if it is the name of such a socket. Connections have the name, too. */
static bool _source (char *line, uid_t uid, struct reply_source *source)
{
    char *name;

    line[strcspn (line, "\n")] = '\0';
    name = strrchr (line, ' ');
    return name && overview_name_parse (name + 1, &source->uid, &source->number)
           && (uid == 0 || source->uid == uid);
}

int reply_sources (const char *file, uid_t uid, struct reply_source **list, struct errtext *err)
{
    FILE *f = fopen (file, "re");
    struct reply_source source = { .ms = 0 };
    char *line = NULL;
    size_t size = 0;
    int count = 0;

    *list = NULL;
    if (!f)
        return errtext_set (err, "%s: %s", file, strerror (errno));
    while (count >= 0 && getline (&line, &size, f) > 0) {
        struct reply_source *more;

        if (!_source (line, uid, &source) || _has (*list, count, &source))
            continue;
        if (!(more = reallocarray (*list, (size_t)count + 1, sizeof (*more)))) {
            count = errtext_set (err, "%s", strerror (ENOMEM));
            break;
        }
        *list = more;
        more[count++] = source;
    }
    free (line);
    fclose (f);
    return count;
}

/* The answer. */

static int _read_frame (struct frame_reader *reader, int fd, struct deadline deadline, struct frame **fp,
                        struct errtext *err)
{
    int n = frame_read (reader, fd, fp, err);

    while (n == 0 && deadline_wait (fd, POLLIN, deadline))
        n = frame_read (reader, fd, fp, err);
    if (n == 0)
        return errtext_set (err, "it did not answer within %d s; is the job suspended?", REPLY_MS / 1000);
    if (n > 0 && frame_version (*fp) != FRAME_VERSION) {
        n = errtext_set (err,
                         "it is of another version of spank-tf than this tf-status (protocol %d, not %d)",
                         frame_version (*fp), FRAME_VERSION);
        frame_destroy (*fp);
        *fp = NULL;
    }
    return n;
}

static int _reserve (struct reply *reply, struct frame *overview, struct errtext *err)
{
    size_t rows = (size_t)reply->overview.rows;

    if (reply->overview.rows > TASKLIST_MAX_TASKS)
        return errtext_set (err, "an overview of %d tasks", reply->overview.rows);
    reply->rank = calloc (rows + 1, sizeof (*reply->rank));
    /* gcc -fanalyzer is wrong: the reply keeps both. */
    if (!reply->rank || !(reply->frame = calloc (rows + 1, sizeof (*reply->frame))))
        return errtext_set (err, "%s", strerror (ENOMEM));
    /* gcc -fanalyzer is wrong: the same. */
    reply->frame[rows] = overview;
    reply->bytes = rows * (sizeof (*reply->rank) + sizeof (*reply->frame));
    return 0;
}

static int _read_rank (struct reply *reply, int i, struct frame_reader *reader, int fd,
                       struct deadline deadline, struct errtext *err)
{
    size_t length = 0;

    if (_read_frame (reader, fd, deadline, &reply->frame[i], err) < 0
        || fields_decode (&overview_rank_fields, &reply->rank[i], reply->frame[i], err) < 0)
        return -1;
    frame_bytes (reply->frame[i], 0, &length);
    reply->bytes += length;
    return reply->bytes > MOST_BYTES ? errtext_set (err, "its answer is too long") : 0;
}

static int _read_overview (struct reply *reply, struct frame_reader *reader, int fd, struct deadline deadline,
                           struct errtext *err)
{
    struct frame *frame;

    if (_read_frame (reader, fd, deadline, &frame, err) < 0)
        return -1;
    if (fields_decode (&overview_fields, &reply->overview, frame, err) == 0
        && _reserve (reply, frame, err) == 0)
        return 0;
    frame_destroy (frame);
    return -1;
}

static int _read_reply (struct reply *reply, struct frame_reader *reader, int fd, struct deadline deadline,
                        struct errtext *err)
{
    int rc;

    rc = _read_overview (reply, reader, fd, deadline, err);
    for (int i = 0; rc == 0 && i < reply->overview.rows; i++)
        rc = _read_rank (reply, i, reader, fd, deadline, err);
    if (rc < 0)
        reply_clear (reply);
    return rc;
}

uint32_t reply_job (const struct reply *reply)
{
    return (uint32_t)strtoul (reply->overview.job_step, NULL, 10);
}

void reply_clear (struct reply *reply)
{
    for (int i = 0; reply->frame && i <= reply->overview.rows; i++)
        frame_destroy (reply->frame[i]);
    for (int i = 0; reply->stack && i < reply->overview.rows; i++)
        free (reply->stack[i].text);
    free (reply->stack);
    free (reply->frame);
    free (reply->rank);
    *reply = (struct reply){ .rank = NULL };
}

/* The question. */

/* EAGAIN: too many askers wait. Only behind that it is known whose socket it is. */
static int _connect (int fd, const struct reply_source *source, struct deadline patience, struct errtext *err)
{
    struct sockaddr_un address;
    socklen_t length = overview_address (&address, source->uid, source->number);

    while (connect (fd, (struct sockaddr *)&address, length) < 0) {
        if (errno != EAGAIN || deadline_passed (patience))
            return errtext_set (err, "%s", strerror (errno));
        poll (NULL, 0, AGAIN_MS);
    }
    return 0;
}

/* Those of the process that listens. */
static int _check_owner (int fd, const struct reply_source *source, struct errtext *err)
{
    struct ucred peer;
    socklen_t length = sizeof (peer);

    if (getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        return errtext_set (err, "%s", strerror (errno));
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the same. */
    if (peer.uid != source->uid && peer.uid != 0)
        return errtext_set (err, "user %u listens in the name of user %u", peer.uid, source->uid);
    return 0;
}

static int _ask (struct reply *reply, int fd, enum overview_asks asks, struct errtext *err)
{
    struct overview_question question = { .asks = asks };
    struct frame *frame = fields_frame (&overview_question_fields, &question);
    struct frame_reader reader = { .ceiling = OVERVIEW_MAX_ANSWER };
    int rc = frame ? frame_send (frame, fd, err) : errtext_set (err, "%s", strerror (ENOMEM));

    frame_destroy (frame);
    if (rc == 0)
        rc = _read_reply (reply, &reader, fd, deadline_in_ms (REPLY_MS), err);
    frame_reader_clear (&reader);
    return rc;
}

int reply_ask (struct reply *reply, const struct reply_source *source, enum overview_asks asks,
               struct deadline patience, struct errtext *err)
{
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

    *reply = (struct reply){ .rank = NULL };
    if (fd < 0)
        return errtext_set (err, "%s", strerror (errno));
    rc = _connect (fd, source, patience, err) < 0 || _check_owner (fd, source, err) < 0
             ? -1
             : _ask (reply, fd, asks, err);
    close (fd);
    return rc;
}

/* All of a job. */

static bool _is_text (const char *text, size_t length, const char *other)
{
    return strlen (other) == length && strncmp (text, other, length) == 0;
}

bool wanted_is (const struct wanted *w, const struct overview *o)
{
    size_t length = strcspn (o->job_step, ".");
    const char *array = o->array ? o->array : "", *step = o->job_step + length;

    if (w->step && strcmp (*step ? step + 1 : step, w->step) != 0)
        return false;
    if (!w->job || _is_text (o->job_step, length, w->job))
        return true;
    return !w->number && (strcmp (array, w->job) == 0 || _is_text (array, strcspn (array, "_"), w->job));
}

/* A user may answer for any job, and Slurm knows whose it is. True if Slurm does not answer. */
static bool _is_owner (uid_t uid, const struct overview *o)
{
    size_t digits = strspn (o->job_step, "0123456789");
    char number[16];
    struct job_info *job;
    struct errtext err;
    bool is_owner;
    int found;

    if (digits == 0 || digits >= sizeof (number))
        return false;
    snprintf (number, sizeof (number), "%.*s", (int)digits, o->job_step);
    found = jobs_find (&job, number, &err);
    is_owner = found < 0;
    for (int i = 0; i < found && !is_owner; i++)
        is_owner = job[i].uid == uid && (!o->array || strcmp (o->array, job[i].name) == 0);
    free (job);
    return is_owner;
}

/* A user may have sockets without end, that answer late, or much. */
static bool _is_used_up (uid_t uid, const struct reply_source *list, int asked)
{
    size_t bytes = 0;
    int ms = 0;

    for (int i = 0; i < asked; i++)
        if (list[i].uid == uid) {
            ms += list[i].ms;
            bytes += list[i].bytes;
        }
    return geteuid () == 0 && (ms >= MOST_MS || bytes >= MOST_BYTES);
}

static int _add (struct replies *replies, struct reply_source *source, const struct wanted *wanted,
                 struct deadline patience)
{
    struct reply *reply = &replies->reply[replies->count];
    struct deadline used = deadline_in_ms (MOST_MS);
    struct errtext err;
    int rc =
        reply_ask (reply, source, wanted->job ? OVERVIEW_ASKS_RANKS : OVERVIEW_ASKS_STEP, patience, &err);

    source->ms = MOST_MS - deadline_left_ms (used);
    /* One that has ended meanwhile, or does not answer, is not the one that is wanted, as far as is known. */
    if (rc < 0) {
        fprintf (stderr, "tf-status: a tf-rendezvous of this host: %s\n", err.text);
        return 0;
    }
    if (!wanted_is (wanted, &reply->overview)) {
        reply_clear (reply);
        return 0;
    }
    source->bytes = reply->bytes > LEAST_BYTES ? reply->bytes : LEAST_BYTES;
    if (geteuid () != 0 || _is_owner (source->uid, &reply->overview))
        return 1;
    source->ms = MOST_MS;
    fprintf (stderr, "tf-status: user %u answers for another user's job\n", source->uid);
    reply_clear (reply);
    return 0;
}

static void _ask_all (struct replies *replies, struct reply_source *list, int count,
                      const struct wanted *wanted)
{
    struct deadline patience = deadline_in_ms (REPLY_MS);

    for (struct reply_source *s = list; s < list + count; s++) {
        if (_is_used_up (s->uid, list, (int)(s - list)))
            continue;
        replies->count += _add (replies, s, wanted, patience);
        if (_is_used_up (s->uid, list, (int)(s - list) + 1))
            fprintf (stderr, "tf-status: user %u: no more is asked on this host\n", s->uid);
    }
}

int replies_ask (struct replies *replies, const struct wanted *wanted, struct errtext *err)
{
    struct reply_source *list;
    int count = reply_sources (NAMES_OF_SOCKETS, geteuid (), &list, err);

    *replies = (struct replies){ count < 0 ? NULL : calloc ((size_t)count + 1, sizeof (*replies->reply)), 0 };
    if (list && replies->reply)
        _ask_all (replies, list, count, wanted);
    free (list);
    if (count >= 0 && !replies->reply)
        return errtext_set (err, "%s", strerror (ENOMEM));
    return count < 0 ? -1 : 0;
}

void replies_clear (struct replies *replies)
{
    for (int i = 0; i < replies->count; i++)
        reply_clear (&replies->reply[i]);
    free (replies->reply);
    *replies = (struct replies){ NULL, 0 };
}
