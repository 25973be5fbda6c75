/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What identifies a network stack: two processes use the same one if the boot ID and the network
 * namespace are the same. Node names would not do, because several can share one stack.
 */
#ifndef TF_HOST_H
#define TF_HOST_H

struct host {
    char id[64];        /* "BOOT-ID/NAMESPACE", without blanks */
};

/* The host of this process. If /proc cannot be read, the ID is different for every process. */
void host_self (struct host *host);

#endif
