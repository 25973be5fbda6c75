/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The connections of a rendezvous: strangers, who have not shown the token yet, and ranks.
 * What they say is somebody else's business.
 */
#ifndef TF_PEER_H
#define TF_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "deadline.h"
#include "frame.h"
#include "step.h"

enum peer_state {
    PEER_STRANGER,      /* its first frame is not whole yet */
    PEER_REGISTERED,    /* a rank that waits for its answer */
    PEER_ANSWERING,     /* its answer is on the way */
    PEER_ANSWERED,      /* it closes when it has the answer; if we did, our port would be busy on */
    PEER_SUPERVISING,   /* the supervisor of a rank, for as long as its task lives */
    PEER_CLOSED,        /* gone, but an event of this round may still name it */
};

struct peer {
    int fd;
    enum peer_state state;
    int rank;                           /* of all but strangers */
    struct deadline patience;           /* of ours, with a stranger */
    struct peer *older, *newer;         /* strangers, by age; the closed, by older alone */
    struct frame_reader reader;
    struct step_answer answer;
    int part;                           /* of answer.iov, the first that is not sent */
    uint32_t events;                    /* that are waited for */
    bool told_to_stop;
};

struct peers {
    int epoll;
    int listener;
    struct peer **by_rank;              /* those here; NULL before peers_expect () */
    int ranks;
    struct peer *oldest, *newest;       /* strangers */
    int strangers;
    struct peer *closed;                /* to be freed after this round of events */
};

/* The listening socket is the caller's and is watched from now on; an event of it names no peer. */
int peers_init (struct peers *peers, int listener);

/* Close them all. */
void peers_clear (struct peers *peers);

/* Also watch this descriptor; an event of it names no peer. */
void peers_watch_fd (const struct peers *peers, int fd);

/* So many ranks will come. -1 when memory ends. */
int peers_expect (struct peers *peers, int ranks);

/*
 * Take some of those who wait at the listening socket. Beside the ranks that are `missing`
 * only so many strangers are heard; who has been silent longest goes first.
 */
void peers_accept (struct peers *peers, int missing);

/* Close strangers whose time is over; when the next one's is: never, without strangers. */
void peers_expire (struct peers *peers);
struct deadline peers_patience (const struct peers *peers);

/* A stranger has shown who it is. An earlier connection of the same rank is closed. */
void peer_introduce (struct peers *peers, struct peer *peer, int rank, enum peer_state state);

/* What to wait for from it: EPOLLIN, EPOLLOUT. */
void peer_watch (const struct peers *peers, struct peer *peer, uint32_t events);

/* Send what the socket takes of its answer: 1 when all is on the way, 0 for later, -1 when the
 * peer is gone. */
int peer_send_answer (struct peer *peer);

/* Send a short frame at once and free it; -1 when that cannot be: then close the peer. */
int peer_send (struct peer *peer, struct frame *frame);

/* Read and drop what it says; false when it has closed. */
bool peer_is_open (const struct peer *peer);

/* It is freed by peers_free_closed (), when no event can name it any more. */
void peer_close (struct peers *peers, struct peer *peer);
void peers_free_closed (struct peers *peers);

#endif
