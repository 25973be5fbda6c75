/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The part of a status (status.h) about a task's activity: heartbeats, or growth of its log. A supervisor
 * sends it when the source changes, when activity becomes overdue or is no longer, when an address has not
 * answered its node for a minute, and when Slurm suspends the job or resumes it.
 */
#ifndef TF_SIGNS_H
#define TF_SIGNS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/address.h"
#include "common/errtext.h"
#include "failure_text.h"
#include "frame.h"

#define SIGNS_MAX_STATUS 128    /* bytes */
#define SIGNS_MAX_MS 2147483647
#define SIGNS_MAX_STEP 2147483647
#define SIGNS_MOST_UNANSWERED 8

enum signs_source {
    SIGNS_UNKNOWN,              /* the program has time for its first one, or its log may come to count */
    SIGNS_NONE,                 /* it has given none in time, or is not watched */
    SIGNS_LOG,                  /* its log file grows */
    SIGNS_MESSAGES,             /* it sends messages */
    SIGNS_DONE,                 /* it has said that it will give no more, or was asked to end */
};

struct signs_address {
    struct address address;
    int port;
};

struct signs {
    int life; /* of the task, from 0; -1: none has begun */
    enum signs_source source;
    bool overdue;               /* the next one is */
    bool stopped;               /* a process of the program is, by a signal; not told if they move */
    bool suspended; /* Slurm is suspending the job, or has; until the next message */
    bool busy;                  /* likewise: one computes; what waits for others seldom does */
    int messages;               /* of this life; at most SIGNS_MAX_MS */
    bool log_grew; /* in this life, before a message was sent */
    int silent_ms;              /* since the last sign, or the start, while the job was not suspended */
    int ago_ms;                 /* since then, in all */
    char status[SIGNS_MAX_STATUS + 1];  /* what the program has said of its work: printable ASCII, or "" */
    int started_ms; /* so long after its begin this life was seen to serve on its address; 0: not seen */
    int slowest_ms; /* --tf-watchdog=auto: the longest silence between two signs; 0: none yet */
    int second_ms; /* ... so long after its start the program sent its second message; 0: not yet */
    int step; /* the highest number "step N" in what it has said in this life; 0: none */
    bool aside; /* nothing of it is for decisions: the step is told out of turn, for tf-status */
    char traceback[FAILURE_TEXT_MAX + 1]; /* with which its log ends, or "" */
    int traceback_ms; /* since then */
    bool traceback_lost; /* it says that a connection was lost */
    struct signs_address unanswered[SIGNS_MOST_UNANSWERED]; /* supervise/attempts.h; some of them */
    int unanswered_count;
};

/*
 * It has given a sign within the last half of the time that it may be silent: it moves, even if one of its
 * processes is stopped. Then `stopped` and `busy` are not told, because to find them out takes a while.
 */
static inline bool signs_move (const struct signs *signs, int64_t most_ms)
{
    return (signs->source == SIGNS_LOG || signs->source == SIGNS_MESSAGES) && signs->silent_ms < most_ms / 2;
}

/* In messages and for programs: "messages". */
extern const char *const signs_source_name[SIGNS_DONE + 1];

/* Its keys (fields.h), a part of a status. */
extern const struct fields signs_fields;

#endif
