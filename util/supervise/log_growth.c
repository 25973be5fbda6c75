/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "log_growth.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/deadline.h"
#include "find_cause.h"
#include "last_line.h"

/* The default may be as large as the limit on a process' memory. */
#define STACK ((size_t)64 * 1024)
/* A look that takes longer than so many pauses hangs. */
#define PATIENCE INT64_C (4)
/* What has not grown for so long is read. A program that prints again and again is not. */
#define QUIET_MS 2000

struct log_growth {
    int fd, pause_ms;
    atomic_int changes;             /* the thread's count */
    atomic_int_least64_t looked_ms; /* its last look, CLOCK_MONOTONIC */
    int seen;                       /* of the changes, by the caller */

    /* The thread's: */
    int reading;                    /* the same file, or -1 */
    off_t size;
    int64_t grown_ms;               /* when that was seen first */
    bool unread;                    /* what has grown */
    char bytes[FIND_CAUSE_WINDOW];

    /* Of both: */
    int changed;                    /* an eventfd */
    pthread_mutex_t mutex;          /* for these: */
    struct failure_text traceback;
    off_t traceback_at;             /* in the file */
    int64_t traceback_ms;
};

/* What is behind a traceback, and is not of it, takes it back. */
static void _find_traceback (struct log_growth *log)
{
    off_t begin = log->size > FIND_CAUSE_WINDOW ? log->size - FIND_CAUSE_WINDOW : 0;
    ssize_t n = pread (log->reading, log->bytes, FIND_CAUSE_WINDOW, begin);
    struct failure_text text = { .source = FAILURE_TEXT_NONE };
    off_t at = begin + (n > 0 ? (off_t)last_line_traceback (&text, log->bytes, (size_t)n) : 0);
    const uint64_t one = 1;
    bool had, has = text.source != FAILURE_TEXT_NONE;

    pthread_mutex_lock (&log->mutex);
    had = log->traceback.source != FAILURE_TEXT_NONE;
    if (has && !(had && at == log->traceback_at))
        log->traceback_ms = log->grown_ms;
    log->traceback = text;
    log->traceback_at = at;
    pthread_mutex_unlock (&log->mutex);
    log->unread = false;
    if ((had || has) && write (log->changed, &one, sizeof (one)) < 0)
        return;
}

static void _look_once (struct log_growth *log)
{
    int64_t now = deadline_in_ms (0).at_ms;
    struct stat st;

    if (fstat (log->fd, &st) == 0 && st.st_size != log->size) {
        if (log->size >= 0)
            atomic_fetch_add (&log->changes, 1);
        log->size = st.st_size;
        log->grown_ms = now;
        log->unread = true;
    }
    if (log->unread && (now - log->grown_ms >= QUIET_MS || log->traceback.source != FAILURE_TEXT_NONE))
        _find_traceback (log);
}

/* It was opened for writing. */
static void *_look_at_log (void *arg)
{
    struct log_growth *log = arg;
    char path[64];

    snprintf (path, sizeof (path), "/proc/self/fd/%d", log->fd);
    log->reading = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    for (;;) {
        _look_once (log);
        atomic_store (&log->looked_ms, deadline_in_ms (0).at_ms);
        poll (NULL, 0, log->pause_ms);
    }
    return NULL;
}

static int _start_looking (struct log_growth *log)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int rc;

    if ((log->changed = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        return errno;
    pthread_attr_init (&attributes);
    pthread_attr_setstacksize (&attributes, STACK);
    pthread_attr_setdetachstate (&attributes, PTHREAD_CREATE_DETACHED);
    if ((rc = pthread_create (&thread, &attributes, _look_at_log, log)) != 0)
        close (log->changed);
    pthread_attr_destroy (&attributes);
    return rc;
}

int log_growth_start (struct log_growth **lp, int fd, int pause_ms, struct errtext *err)
{
    struct log_growth *log = calloc (1, sizeof (*log));
    int rc;

    if (!log)
        return errtext_set (err, "--tf-log-dir: %s", strerror (ENOMEM));
    log->fd = fd;
    log->pause_ms = pause_ms;
    log->size = -1;
    pthread_mutex_init (&log->mutex, NULL);
    atomic_store (&log->looked_ms, deadline_in_ms (0).at_ms);
    if ((rc = _start_looking (log)) != 0) {
        free (log);
        return errtext_set (err, "--tf-log-dir: %s", strerror (rc));
    }
    *lp = log;
    return 0;
}

bool log_growth_seen (struct log_growth *log)
{
    int changes = log ? atomic_load (&log->changes) : 0;
    bool grown = log && changes != log->seen;

    if (log)
        log->seen = changes;
    return grown;
}

bool log_growth_hangs (const struct log_growth *log)
{
    return log && deadline_in_ms (0).at_ms - atomic_load (&log->looked_ms) > PATIENCE * log->pause_ms;
}

int log_growth_fd (const struct log_growth *log)
{
    return log ? log->changed : -1;
}

int64_t log_growth_traceback (struct log_growth *log, struct failure_text *text)
{
    uint64_t changes;
    int64_t since = 0;

    *text = (struct failure_text){ .source = FAILURE_TEXT_NONE };
    if (!log)
        return since;
    if (read (log->changed, &changes, sizeof (changes)) < 0)
        changes = 0;
    pthread_mutex_lock (&log->mutex);
    *text = log->traceback;
    since = log->traceback_ms;
    pthread_mutex_unlock (&log->mutex);
    return since;
}
