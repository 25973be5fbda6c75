/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Has a program ever listened on the ports of its task? The kernel tells who listens (sock_diag (7)), to any
 * user and without a connection. It is asked now and then, with growing pauses, until it has said yes once.
 */
#ifndef TF_LISTENER_H
#define TF_LISTENER_H

#include <stdbool.h>

#include "common/deadline.h"
#include "protocol/life_report.h"

/* Set .port and .due. */
struct listener {
    int port[2];                /* in TF_CONFIG and, of process 0 of PyTorch, MASTER_PORT; 0: none */
    enum address_use use;       /* in all lives of the task */
    bool hidden;                /* the kernel's answer would not be about the program */
    int pause_ms;
    struct deadline due;        /* the next look; never: none is needed, or no life has begun */
};

/* A life of the task begins: look often again, unless nothing is left to know. */
void listener_begin (struct listener *listener);

/* The program has a network namespace of its own, or may have one: nothing can be known of it. */
void listener_hide (struct listener *listener);

/* Ask the kernel, if that is due. */
void listener_look (struct listener *listener);

#endif
