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
#include "last_line.h"
#include "log_tail.h"

/* The default may be as large as the limit on a process' memory. */
#define STACK ((size_t)64 * 1024)
/* A look that takes longer than this many pauses hangs. */
#define PATIENCE INT64_C (4)
/* A log is read when it has not grown for this time. That of a program that prints all the time is not. */
#define QUIET_MS 2000
/*
 * So often the thread notes the size, as far as this host knows it: no server is asked. Of several tasks
 * the one that was the first to print a traceback is told from those that died of it.
 */
#define NOTE_MS 100
/* It notes when a block was begun. A traceback has the beginning of one: it is longer. */
#define BLOCK 64
#define BLOCKS (LOG_TAIL_WINDOW / BLOCK)

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
    char bytes[LOG_TAIL_WINDOW];

    /* Of both: */
    int changed;                    /* an eventfd */
    pthread_mutex_t mutex;          /* for these: */
    struct failure_text traceback;
    int64_t traceback_ms;
    off_t noted;                    /* the size */
    int64_t begun_ms[BLOCKS];       /* when each of the last blocks of so many bytes was seen first */
};

/* Blocks that begin in front of `size` are there now. */
static void _note_blocks (struct log_growth *log, off_t size, int64_t now)
{
    off_t block = (log->noted + BLOCK - 1) / BLOCK;

    if (size > log->noted + LOG_TAIL_WINDOW)
        block = (size - LOG_TAIL_WINDOW + BLOCK - 1) / BLOCK;
    pthread_mutex_lock (&log->mutex);
    for (; block * BLOCK < size; block++)
        log->begun_ms[block % BLOCKS] = now;
    log->noted = size;
    pthread_mutex_unlock (&log->mutex);
}

static void _note_size (struct log_growth *log, int64_t now)
{
    off_t size = log_growth_size (log);

    if (size >= 0)
        _note_blocks (log, size, now);
}

/* Of what begins there, in the last bytes. Its mutex is locked. */
static int64_t _begun (const struct log_growth *log, off_t at, int64_t now)
{
    off_t block = at / BLOCK + 1;
    bool noted = block * BLOCK < log->noted && log->noted - at <= LOG_TAIL_WINDOW;

    return noted ? log->begun_ms[block % BLOCKS] : now;
}

/* What is behind a traceback, and is not of it, takes it back. */
static void _find_traceback (struct log_growth *log)
{
    off_t begin = log->size > LOG_TAIL_WINDOW ? log->size - LOG_TAIL_WINDOW : 0;
    ssize_t n = pread (log->reading, log->bytes, LOG_TAIL_WINDOW, begin);
    struct last_words words = last_line_running (log->bytes, n > 0 ? (size_t)n : 0);
    const uint64_t one = 1;
    bool had, has = words.exception.source != FAILURE_TEXT_NONE;

    pthread_mutex_lock (&log->mutex);
    had = log->traceback.source != FAILURE_TEXT_NONE;
    log->traceback = words.exception;
    log->traceback_ms = _begun (log, begin + words.traceback, log->grown_ms);
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
        _note_blocks (log, st.st_size, now);
    }
    if (log->unread && (now - log->grown_ms >= QUIET_MS || log->traceback.source != FAILURE_TEXT_NONE))
        _find_traceback (log);
}

/* It was opened for writing. */
static void *_look_at_log (void *arg)
{
    struct log_growth *log = arg;
    int notes = log->pause_ms / NOTE_MS > 0 ? log->pause_ms / NOTE_MS : 1;
    char path[64];

    snprintf (path, sizeof (path), "/proc/self/fd/%d", log->fd);
    log->reading = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    for (;;) {
        _look_once (log);
        atomic_store (&log->looked_ms, deadline_in_ms (0).at_ms);
        for (int i = 0; i < notes; i++) {
            poll (NULL, 0, log->pause_ms / notes);
            _note_size (log, deadline_in_ms (0).at_ms);
        }
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

int64_t log_growth_begun (struct log_growth *log, off_t at)
{
    int64_t begun, now = deadline_in_ms (0).at_ms;

    if (!log)
        return now;
    pthread_mutex_lock (&log->mutex);
    begun = _begun (log, at, now);
    pthread_mutex_unlock (&log->mutex);
    return begun;
}

off_t log_growth_size (const struct log_growth *log)
{
    struct statx stx;

    if (!log || statx (log->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &stx) < 0)
        return -1;
    return (off_t)stx.stx_size;
}
