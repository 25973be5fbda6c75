/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task's side of the launch: connect to the rendezvous, register, wait for the answer.
 */
#ifndef TF_CLIENT_H
#define TF_CLIENT_H

#include "answer.h"
#include "common/address.h"
#include "common/deadline.h"
#include "common/errtext.h"
#include "contact.h"
#include "frame.h"
#include "registration.h"

enum client_outcome {
    CLIENT_ANSWERED,            /* answer and frame are the caller's */
    CLIENT_REFUSED,             /* the rendezvous has printed why */
    CLIENT_NO_RENDEZVOUS,       /* connections are refused, or the server token was wrong */
    CLIENT_TIMED_OUT,           /* no connection, or no answer, by the deadline */
};

/* An answer, the frame that its strings are in, and the connection that it came on. */
struct client_answer {
    struct answer answer;
    struct frame *frame;        /* to be destroyed */
    int fd;                     /* to be closed */
};

/*
 * Register, wait for the answer and acknowledge it. A connection that breaks is made again; one that is
 * refused for two seconds is not. Fills in registration->address. err is set for CLIENT_NO_RENDEZVOUS and
 * CLIENT_TIMED_OUT; *answer only for CLIENT_ANSWERED.
 */
enum client_outcome client_register (struct registration *registration, const struct contact *contact,
                                     const struct address *srun, struct deadline deadline,
                                     struct client_answer *answer, struct errtext *err);

#endif
