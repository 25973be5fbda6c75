/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which processes share a network, known from the kernel and not from names: the same boot
 * and the same network namespace.
 */
#ifndef TF_HOST_H
#define TF_HOST_H

struct host {
    char id[64];        /* "BOOT-ID/NAMESPACE", without blanks */
};

/* This process' host. Where /proc tells nothing, an id that is nobody else's. */
void host_self (struct host *host);

#endif
