/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a supervisor tells the rendezvous: all that it knows of its task. It is told when something of it has
 * changed, and first on each new connection, so nothing is lost with a connection, and one that arrives twice
 * changes nothing.
 */
#ifndef TF_STATUS_H
#define TF_STATUS_H

#include <stdbool.h>

#include "check.h"
#include "common/errtext.h"
#include "exit_report.h"
#include "failure_text.h"
#include "fields.h"
#include "life_report.h"
#include "signs.h"

struct status {
    bool ended; /* its life has, and no other one has begun; then these, and otherwise only life.asked_… */
    struct exit_report report;
    struct life_report life;
    struct failure_text failure;
    struct signs signs;             /* of this life */
    struct check_report check; /* the last one of its node; .number 0: none */
};

/*
 * The first message of a new connection: a hello, and the rank of the supervisor, come before it. NULL if
 * there is no memory.
 */
struct frame *status_encode_first (const struct status *status, const char *token, const char *node,
                                   int rank);

/* The rank in a first message, 0..tasks - 1; or -1. */
int status_rank (const struct frame *frame, int tasks);

/* -1 and err if it is malformed. Texts live as long as the frame. */
int status_decode (struct status *status, const struct frame *frame, struct errtext *err);

/* Its keys (fields.h). */
extern const struct fields status_fields;

#endif
