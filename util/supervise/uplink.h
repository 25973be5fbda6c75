/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A supervisor's connection to its rendezvous, which is made again whenever it breaks. Nothing
 * here blocks: the caller polls.
 */
#ifndef TF_UPLINK_H
#define TF_UPLINK_H

#include <poll.h>

#include "common/deadline.h"
#include "common/errtext.h"
#include "lease.h"
#include "protocol/goal.h"
#include "protocol/status.h"
#include "protocol/supervisor_config.h"

struct uplink {
    enum { UPLINK_UP, UPLINK_CONNECTING, UPLINK_PAUSING } state;
    int fd;
    const struct supervisor_config *config;
    struct deadline next;           /* of the state */
    struct deadline stable;         /* a connection that lasts until then was not a failure */
    int pause_ms;
    struct link link;
    bool known;                     /* what is connected has the server's token */
    bool fresh;                     /* nothing was told on it */
    struct frame_reader reader;
    int report;                     /* the number of the report in the last status; 0: the task runs */
    struct goal goal;               /* the last that the rendezvous has told */
    struct frame *answer;           /* the last that came with one, until the caller takes it; or NULL */
};

/*
 * `fd` is the connection on which the task registered and got its answer; it belongs to the
 * uplink. If it is closed or broken, a new connection is made. The configuration must live as
 * long. NULL and err if there is no memory.
 */
struct uplink *uplink_create (int fd, const struct supervisor_config *config, struct errtext *err);

/* Close the connection. NULL is fine. */
void uplink_destroy (struct uplink *uplink);

/*
 * What to poll for (fd -1: nothing), and until when. Then call uplink_serve (), also when only
 * the deadline has passed.
 */
struct deadline uplink_poll (const struct uplink *uplink, struct pollfd *pfd);

enum uplink_event {
    UPLINK_NOTHING,
    UPLINK_CONNECTED,       /* there is a new connection: uplink_tell () */
    UPLINK_GOAL,            /* the rendezvous has told another goal */
};

/* Go on; `revents` is poll ()'s. */
enum uplink_event uplink_serve (struct uplink *uplink, short revents);

/* What is seen of the connection now. */
struct link uplink_link (struct uplink *uplink);

/* Tell the status, if there is a connection. If not, and it has another report, the next one comes soon. */
void uplink_tell (struct uplink *uplink, const struct status *status);

/* A next life has begun. */
void uplink_restarted (struct uplink *uplink);

#endif
