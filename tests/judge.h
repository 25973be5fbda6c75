/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the two halves of the judge share: the ranks as the test knows them, and the verdict.
 */
#ifndef TF_JUDGE_H
#define TF_JUDGE_H

#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

struct rank {
    int number;
    const char *role;
    int index;
    char *identity;             /* "rank 1 worker 0 of step 12.0," */
    const char *address;        /* as TF_CONFIG has it; NULL: not in there */
    char host[NI_MAXHOST], port[NI_MAXSERV];
    struct sockaddr_storage where;
    bool answered;              /* it told us who it is */
    bool said_bye;              /* it has asked us */
    int trouble;                /* errno of the last attempt to ask it */
};

extern struct rank *ranks, *me;
extern int rank_count;

/* Does a's dictionary list b? */
bool lists (const struct rank *a, const struct rank *b);

/* printf() to a new string. */
char *format (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));

/* One line about this rank, in one write: ranks that share a terminal must not mix theirs. */
void say (int fd, const char *text);

#define die(...) (say (2, format (__VA_ARGS__)), exit (1))

/*
 * Serve on `listener`, ask every rank of our dictionary who it is, and return when all have
 * answered and all who list us have asked. Dies after so many seconds, or when an answer was
 * wrong.
 */
void roll_call (int listener, const char *dictionary, const char *node, int seconds);

/* Go on answering for so many seconds. */
void roll_linger (int seconds);

#endif
