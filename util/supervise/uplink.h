/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A supervisor's connection to its rendezvous, which is made again whenever it breaks. Nothing
 * here blocks: the caller polls.
 */
#ifndef TF_UPLINK_H
#define TF_UPLINK_H

#include <poll.h>
#include <stdbool.h>

#include "common/deadline.h"
#include "common/errtext.h"
#include "lease.h"
#include "protocol/exit_report.h"
#include "protocol/failure_text.h"
#include "protocol/goal.h"
#include "protocol/life_report.h"
#include "protocol/supervisor_config.h"

struct uplink;

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

/* Go on; `revents` is poll ()'s. True if the rendezvous has told another goal: uplink_goal (). */
bool uplink_serve (struct uplink *uplink, short revents);
const struct goal *uplink_goal (const struct uplink *uplink);

/* What is seen of the connection now. */
struct link uplink_link (struct uplink *uplink);

/*
 * Send the exit report, now and at the beginning of every new connection. Call it once in each life,
 * and again if *life has changed, whose text must live as long.
 */
void uplink_report (struct uplink *uplink, const struct exit_report *report, const struct life_report *life,
                    const struct failure_text *failure);

/* What a new connection is told of the job: Slurm is suspending it. */
void uplink_set_suspended (struct uplink *uplink, bool suspended);
bool uplink_is_suspended (const struct uplink *uplink);

/*
 * Send a frame, which is destroyed. Returns the number of the connection, from 1: what was sent on an
 * earlier one may not have arrived. 0 if there is no connection now.
 */
int uplink_tell (struct uplink *uplink, struct frame *frame);

/* The number of the connection that there is now, or was last. */
int uplink_connection (const struct uplink *uplink);

/* The last answer that came with a goal, which is the caller's then; NULL if none has come since. */
struct frame *uplink_take_answer (struct uplink *uplink);

/* A next life has begun. */
void uplink_restarted (struct uplink *uplink);

#endif
