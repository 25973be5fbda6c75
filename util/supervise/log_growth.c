/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "log_growth.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/deadline.h"

/* The default may be as large as the limit on a process' memory. */
#define STACK ((size_t)64 * 1024)
/* A look that takes longer than so many pauses hangs. */
#define PATIENCE INT64_C (4)

struct log_growth {
    int fd, pause_ms;
    atomic_int changes;             /* the thread's count */
    atomic_int_least64_t looked_ms; /* its last look, CLOCK_MONOTONIC */
    int seen;                       /* of the changes, by the caller */
};

static void *_look_at_log (void *arg)
{
    struct log_growth *log = arg;
    off_t size = -1;
    struct stat st;

    for (;;) {
        if (fstat (log->fd, &st) == 0 && st.st_size != size) {
            if (size >= 0)
                atomic_fetch_add (&log->changes, 1);
            size = st.st_size;
        }
        atomic_store (&log->looked_ms, deadline_in_ms (0).at_ms);
        poll (NULL, 0, log->pause_ms);
    }
    return NULL;
}

int log_growth_start (struct log_growth **lp, int fd, int pause_ms, struct errtext *err)
{
    struct log_growth *log = calloc (1, sizeof (*log));
    pthread_attr_t attributes;
    pthread_t thread;
    int rc;

    if (!log)
        return errtext_set (err, "--tf-watchdog: %s", strerror (ENOMEM));
    log->fd = fd;
    log->pause_ms = pause_ms;
    atomic_store (&log->looked_ms, deadline_in_ms (0).at_ms);
    pthread_attr_init (&attributes);
    pthread_attr_setstacksize (&attributes, STACK);
    pthread_attr_setdetachstate (&attributes, PTHREAD_CREATE_DETACHED);
    rc = pthread_create (&thread, &attributes, _look_at_log, log);
    pthread_attr_destroy (&attributes);
    if (rc != 0) {
        free (log);
        return errtext_set (err, "--tf-watchdog: %s", strerror (rc));
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
