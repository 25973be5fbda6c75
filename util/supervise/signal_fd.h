/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The signals of this process, which all are blocked, and are read.
 */
#ifndef TF_SIGNAL_FD_H
#define TF_SIGNAL_FD_H

#include <stdbool.h>
#include <sys/types.h>

#include "signals.h"

/* Block all signals. The descriptor, to poll for POLLIN; -1 and errno. */
int signal_fd_open (void);

/* The next one that has arrived. False if there is none. */
bool signal_fd_read (int fd, struct signal *signal);

#endif
