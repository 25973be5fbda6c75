/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The connections of a rendezvous: those that have not shown the token yet, and those of ranks.
 * What the messages mean is the business of launch.c and supervisors.c.
 */
#ifndef TF_PEERS_H
#define TF_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/address.h"
#include "common/deadline.h"
#include "protocol/answer.h"
#include "protocol/frame.h"
#include "roster.h"

enum peer_state {
    PEER_UNAUTHENTICATED,   /* its first frame is not complete yet */
    PEER_REGISTERED,        /* a rank that waits for its answer */
    PEER_ANSWERING,         /* its answer is partly sent */
    PEER_ANSWERED,          /* its whole answer is sent, and the rank acknowledges it */
    PEER_REFUSED,           /* its refusal is sent, and the rank closes the connection: first, so
                               that its end and not this port has to wait (TIME_WAIT) */
    PEER_SUPERVISED,        /* a rank's supervisor, until its task has ended; it may get another answer */
    PEER_CLOSED,            /* closed, but an event of this round may still point here */
};

struct peer {
    int fd;
    enum peer_state state;
    struct address from; /* its end of the connection */
    struct rank *rank;                  /* NULL: unauthenticated */
    struct deadline timeout;            /* by when the first frame must be complete */
    struct peer *older, *newer;         /* the unauthenticated, by age; the closed, by older */
    struct frame_reader reader;
    struct answer_message answer;
    int part;                           /* of answer.part, the first that is not fully sent */
    uint32_t events;                    /* that epoll waits for */
    uint32_t segments;                  /* that had come when that was seen last to have changed, */
    int64_t heard;                      /* ... which was then */
    int64_t silent_ms; /* with spares: since its host was heard, at the last look */
};

struct peers {
    int epoll;
    int listener;
    struct peer *oldest, *newest;       /* unauthenticated */
    int unauthenticated;
    struct peer *closed;                /* freed after this round of events */
};

/*
 * Watch the listening socket, which belongs to the caller; the data.ptr of its events is NULL. -1
 * and errno.
 */
int peers_init (struct peers *peers, int listener);

/* Close all connections, also those of these ranks. */
void peers_clear (struct peers *peers, const struct roster *roster);

/* Watch this descriptor too; the data.ptr of its events is NULL. */
void peers_watch_fd (const struct peers *peers, int fd);

/*
 * Accept a bounded number of connections. Besides the `missing` ranks, only a few stay
 * unauthenticated at a time, and not more than there is `room` for: the oldest one is closed for the next.
 */
void peers_accept (struct peers *peers, int missing, int room);

/* A connection has shown the token. An earlier connection of the same rank is closed. */
void peer_set_rank (struct peers *peers, struct peer *peer, struct rank *rank, enum peer_state state);

/* Of a connection that has a rank, which learns of it: rank->link. */
void peer_set_state (struct peer *peer, enum peer_state state);

/*
 * Send as much of peer->answer as the socket takes: 1 if all is sent, 0 if the rest has to wait until
 * epoll says so, -1 if the connection is broken.
 */
int peer_send_answer (const struct peers *peers, struct peer *peer);

/* Part of an answer is still to be sent: nothing else may be. */
bool peer_is_sending (const struct peer *peer);

/* Send a short frame at once and free it. -1 if that is impossible: then close the peer. */
int peer_send (struct peer *peer, struct frame *frame);

/* Read and ignore what has arrived; false if the connection is closed. */
bool peer_is_open (const struct peer *peer);

/* Close it now; peers_free_closed () frees it when no event can point to it any more. */
void peer_close (struct peers *peers, struct peer *peer);
/* The same, but what has not arrived is not sent again, and neither side has TIME_WAIT. */
void peer_abort (struct peers *peers, struct peer *peer);
void peers_free_closed (struct peers *peers);

#endif
