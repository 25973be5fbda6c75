/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the first frame of every connection to the rendezvous begins. TOKEN, RELEASE and NODE keep
 * their form in every version of the protocol, so that two versions that cannot talk can say so.
 */
#ifndef TF_HELLO_H
#define TF_HELLO_H

#include <stdbool.h>

#include "frame.h"

/* Decoded strings live as long as the frame; NULL when the key is missing. */
struct hello {
    const char *token;
    const char *node;           /* Slurm's name of it */
    const char *release;        /* of spank-tf on that node; encoding writes this one's */
    bool reconnects;            /* a supervisor (reconnect.h); else a task (registration.h) */
    int version;                /* of the protocol; encoding writes this one's */
};

void hello_encode (struct frame *frame, const struct hello *hello);
void hello_decode (struct hello *hello, const struct frame *frame);

#endif
