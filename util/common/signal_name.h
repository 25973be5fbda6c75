/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The name of a signal that may ask a program to end.
 */
#ifndef TF_SIGNAL_NAME_H
#define TF_SIGNAL_NAME_H

#include <stddef.h>

/* "SIGTERM", or "signal 34". Returns buf. */
const char *signal_name (int number, char *buf, size_t size);

#endif
