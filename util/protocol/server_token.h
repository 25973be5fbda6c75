/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The token in every frame that the rendezvous sends. It shows a task and its supervisor that
 * they talk to their own step's rendezvous, not to another program that got srun's port.
 */
#ifndef TF_SERVER_TOKEN_H
#define TF_SERVER_TOKEN_H

#include "common/errtext.h"
#include "frame.h"

void server_token_add (struct frame *frame, const char *server_token);

/* -1 and err if the frame has another token, or none. */
int server_token_check (const struct frame *frame, const char *server_token,
                        struct errtext *err);

#endif
