/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How both sides of a connection show that they belong to the same step. The first frame to the
 * rendezvous begins with a hello; TOKEN, RELEASE and NODE keep their form in every version of the
 * protocol, so that two versions that cannot talk can say so. Every frame of the rendezvous has the
 * server token, which another program that got srun's port does not know.
 */
#ifndef TF_HELLO_H
#define TF_HELLO_H

#include <stdbool.h>

#include "common/errtext.h"
#include "frame.h"

/* Decoded strings live as long as the frame; NULL when the key is missing. */
struct hello {
    const char *token;
    const char *node;           /* Slurm's name of it */
    const char *release;        /* of spank-tf on that node: PACKAGE_VERSION */
    bool reconnects;            /* a supervisor (reconnect.h); else a task (registration.h) */
};

/* Its keys (fields.h). It can always be decoded, also that of another version. */
extern const struct fields hello_fields;

/* True if it shows this token. In constant time, which does not tell how much of a wrong one is right. */
bool hello_shows (const struct hello *hello, const char *token);

void server_token_add (struct frame *frame, const char *server_token);

/* -1 and err if the frame has another token, or none. */
int server_token_check (const struct frame *frame, const char *server_token, struct errtext *err);

#endif
