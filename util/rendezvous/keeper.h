/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A rendezvous that is killed (by a user, or because memory was exhausted) is begun again. It has a child for
 * that, in `ps` "tf-keeper", which has nothing but its first three descriptors, the sockets and the journal
 * (journal.h), decides nothing, and sleeps.
 */
#ifndef TF_KEEPER_H
#define TF_KEEPER_H

#include "journal.h"

/*
 * Start the keeper: 0, also if that is impossible. Returns again, in another process, when this process has
 * died and the journal is useful: how often that was. Not for the third time within a minute. If it does not
 * although the journal was useful, it prints why.
 */
int keeper_start (struct journal *journal);

/* This process is about to end by itself, and is not restarted. */
void keeper_end (struct journal *journal);

#endif
