/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "replies.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/descriptors.h"

#define NAMES_OF_SOCKETS "/proc/net/unix"
/* Of an overview that only says that there are no more. */
#define NO_STEP "-"

/* Which are wanted. */

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

/* This host's. */

static int _add (struct replies *replies, struct reply *reply)
{
    struct reply *more = reallocarray (replies->reply, (size_t)replies->count + 1, sizeof (*more));

    if (!more) {
        reply_clear (reply);
        errno = ENOMEM;
        return -1;
    }
    replies->reply = more;
    more[replies->count++] = *reply;
    return 0;
}

/*
 * One that has ended meanwhile, or that does not answer, is not the one that is looked for, as far as is
 * known.
 */
static int _ask_one (struct replies *replies, const struct reply_source *source, const struct wanted *wanted,
                     enum overview_asks asks)
{
    struct reply reply;
    struct errtext err;

    if (reply_ask (&reply, source, OVERVIEW_ASKS_STEP, &err) < 0) {
        fprintf (stderr, "tf-status: a tf-rendezvous of this host: %s\n", err.text);
        return 0;
    }
    if (!wanted_is (wanted, &reply.overview)) {
        reply_clear (&reply);
        return 0;
    }
    if (asks == OVERVIEW_ASKS_RANKS) {
        reply_clear (&reply);
        if (reply_ask (&reply, source, asks, &err) < 0)
            return 0;
    }
    return _add (replies, &reply);
}

int replies_ask (struct replies *replies, const struct wanted *wanted, enum overview_asks asks,
                 struct errtext *err)
{
    struct reply_source *list;
    int count = reply_sources (NAMES_OF_SOCKETS, geteuid (), &list, err), rc = count < 0 ? -1 : 0;

    for (int i = 0; i < count && rc == 0; i++)
        if (_ask_one (replies, &list[i], wanted, asks) < 0)
            rc = errtext_set (err, "%s", strerror (errno));
    free (list);
    return rc;
}

/* Another host's. */

static int _pass_frame (struct frame *frame, int fd)
{
    size_t length;
    const void *bytes = frame ? frame_bytes (frame, 0, &length) : NULL;
    int rc = bytes ? descriptors_write (fd, bytes, length) : -1;

    frame_destroy (frame);
    return rc;
}

int replies_pass (const struct replies *replies, int fd)
{
    static const struct overview mark = { .job_step = NO_STEP, .restarts_left = -1 };
    int rc = 0;

    for (int i = 0; i < replies->count && rc == 0; i++) {
        const struct reply *r = &replies->reply[i];

        rc = _pass_frame (fields_frame (&overview_fields, &r->overview), fd);
        for (int k = 0; k < r->overview.rows && rc == 0; k++)
            rc = _pass_frame (fields_frame (&overview_rank_fields, &r->rank[k]), fd);
    }
    if (rc == 0)
        rc = _pass_frame (fields_frame (&overview_fields, &mark), fd);
    /* slurmstepd sends lines. */
    return rc < 0 ? -1 : descriptors_write (fd, "\n", 1);
}

/* After a mark. */
static void _skip_newline (int fd, struct deadline deadline)
{
    char byte;

    if (deadline_wait (fd, POLLIN, deadline) && recv (fd, &byte, 1, MSG_PEEK) == 1 && byte == '\n')
        (void)!recv (fd, &byte, 1, 0);
}

int replies_read (struct replies *replies, struct frame_reader *reader, int fd, struct deadline deadline,
                  struct errtext *err)
{
    struct reply reply;

    _skip_newline (fd, deadline);
    while (reply_read (&reply, reader, fd, deadline, err) == 0) {
        if (strcmp (reply.overview.job_step, NO_STEP) == 0) {
            reply_clear (&reply);
            return 0;
        }
        if (_add (replies, &reply) < 0)
            return errtext_set (err, "%s", strerror (errno));
    }
    return -1;
}

void replies_clear (struct replies *replies)
{
    for (int i = 0; i < replies->count; i++)
        reply_clear (&replies->reply[i]);
    free (replies->reply);
    *replies = (struct replies){ NULL, 0 };
}
