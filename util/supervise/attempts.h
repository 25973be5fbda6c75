/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Connections that this user's programs on this node try to make, and that are not answered: neither
 * accepted nor refused, as behind a firewall that drops packets. The kernel tells (sock_diag (7)).
 *
 * It is asked seldom, with pauses that grow with the age of the life, until an attempt is seen, and then
 * every five seconds. An address has not answered for a minute if an attempt was seen at each of these looks.
 * gRPC gives up an attempt after 20 s and begins another one, so a single look may miss it. As looks are
 * counted, the time in which the job is suspended is not.
 */
#ifndef TF_ATTEMPTS_H
#define TF_ATTEMPTS_H

#include <stdbool.h>

#include "common/deadline.h"
#include "protocol/signs.h"

/* Attempts to more addresses at a time are not followed. */
#define ATTEMPTS_MOST 64

struct attempts {
    struct attempt {
        struct signs_address to;
        int looks;                  /* at which it was seen */
        int missed;                 /* at so many looks since */
        bool seen;                  /* at this one */
    } attempt[ATTEMPTS_MOST];
    int count;
    int pause_ms;
    struct deadline due;            /* the next look; never: none is needed, or no life has begun */
};

/* A life of the task begins: what was seen before counts no more. */
void attempts_begin (struct attempts *attempts);

/* Ask the kernel, if that is due. True if an address has not answered for a minute. */
bool attempts_look (struct attempts *attempts);

/* Those addresses, as many as fit. The number of them. */
int attempts_unanswered (const struct attempts *attempts, struct signs_address to[SIGNS_MOST_UNANSWERED]);

#endif
