/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nodes that do not reach each other: programs of a node try to connect to another task's address of the
 * dictionary, and get no answer for a minute, not even that none listens there (supervise/attempts.h). It is
 * said once in a step.
 */
#ifndef TF_UNANSWERED_H
#define TF_UNANSWERED_H

#include <stdbool.h>

#include "common/deadline.h"
#include "common/list_text.h"
#include "protocol/signs.h"
#include "server.h"

struct unanswered {
    struct deadline due;                /* when it is said; never: there is nothing to say */
    bool said;
    char text[4096];
    struct list_text list;              /* in text: who to whom */
};

void unanswered_init (struct unanswered *unanswered);

/* A supervisor has told this. */
void unanswered_take (struct server *server, struct rank *from, const struct signs *signs);

/* Say it, if that is due and the job still runs. */
void unanswered_check (struct server *server);

#endif
