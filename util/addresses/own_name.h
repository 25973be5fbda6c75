/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Debian's installer writes "127.0.1.1 HOST" into /etc/hosts. A program that looks up its own host's name, as
 * Gloo does in JAX, then tells others to connect to 127.0.1.1.
 */
#ifndef TF_OWN_NAME_H
#define TF_OWN_NAME_H

#include <stdio.h>

#include "common/address.h"

/*
 * The loopback address that /etc/hosts has for this host's own name. Names are not resolved otherwise: a task
 * must not wait for a name server. Returns room->text, or NULL.
 */
const char *own_name_loopback (struct address_text *room);

/* The same for this file of that form, and this name. */
const char *own_name_find_loopback (FILE *hosts, const char *name, struct address_text *room);

#endif
