/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The other end of a quiet connection may be gone without a word: its host crashed, a
 * firewall forgot it.
 */
#ifndef TF_KEEPALIVE_H
#define TF_KEEPALIVE_H

/* Notice it within a minute. Connections that a listening socket accepts inherit this. */
void keepalive (int fd);

#endif
