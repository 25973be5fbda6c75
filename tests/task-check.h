/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * task-check: what task-check.c and task-check-peers.c share.
 */
#ifndef TF_TASK_CHECK_H
#define TF_TASK_CHECK_H

#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

/* A rank of the step, as the test expects it. */
struct rank {
    int number;
    const char *role;
    int index;
    char *identity;             /* "rank 1 worker 0 of step 12.0," */
    const char *address;        /* from TF_CONFIG; NULL if it does not list this rank */
    char host[NI_MAXHOST], port[NI_MAXSERV];
    struct sockaddr_storage sockaddr;
    bool answered;              /* it has answered our request with its identity */
    bool finished;              /* it has requested our identity, and received it */
    int connect_errno;          /* of the last attempt to reach it */
};

extern struct rank *ranks, *me;
extern int rank_count;

/* Is b listed in a's TF_CONFIG? The evaluator is listed in its own only. */
bool lists (const struct rank *a, const struct rank *b);

/* printf() to a new string. */
char *format (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));

/*
 * Write one line that begins with this rank's identity, by a single write(): the lines of ranks
 * that share a terminal must not mix.
 */
void report (int fd, const char *text);

#define die(...) (report (2, format (__VA_ARGS__)), exit (1))

/*
 * Accept connections on `listener`, and request the identity of every rank in our dictionary.
 * Return when each has answered, and when each rank that lists us has our answer. Exit with an
 * error after `seconds`, or if an answer was wrong.
 */
void peers_check (int listener, const char *dictionary, const char *node, int seconds);

/* Keep answering requests for so many seconds. */
void peers_serve (int seconds);

#endif
