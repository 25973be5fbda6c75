/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Some programs look up their own host's name, and tell others to connect to that address: Gloo, in JAX on
 * CPUs, and torchrun. Debian's installer writes "127.0.1.1 HOST" into /etc/hosts, and the name may lead to
 * nothing, or to another host.
 */
#ifndef TF_OWN_NAME_H
#define TF_OWN_NAME_H

#include "common/address.h"

/* What is reported for a name that leads to no address. */
#define OWN_NAME_NOWHERE "none"

/*
 * Where this host's name leads, if other hosts cannot connect there: the text of a loopback address, or of
 * one that this host does not have, or OWN_NAME_NOWHERE. As for Gloo, the first address counts at which a
 * socket can be bound. Returns room->text, or NULL if the name is right or there is no child, which looks it
 * up. The child is given up after some seconds, as the name server may be away: then the name leads nowhere.
 */
const char *own_name_fault (struct address_text *room);

/* What is wrong with that, "does not resolve" or "leads to 127.0.1.1, a loopback address". */
#define OWN_NAME_TEXT 160
const char *own_name_explain (char text[OWN_NAME_TEXT], const char *fault);

#endif
