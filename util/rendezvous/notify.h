/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The site's program, notify= in plugstack.conf, which gets every event of the step as one object of JSON
 * on its stdin. Nothing that it does harms the step, which waits for it only at its end, and not for long:
 *
 *     tf-notify     a process for each event, forked from tf-rendezvous. It waits until that of the
 *                   event before has ended, starts the program, waits for it, and ends.
 *     the program   has ten seconds, and is killed then. When it has ended, what is left in its process group
 *                   is killed, too.
 *
 * At most NOTIFY_MOST events run or wait. One more is dropped, unless it is the step's last, so all is
 * over NOTIFY_SECONDS * (NOTIFY_MOST + 1) after that, whether or not tf-rendezvous and srun are still there.
 */
#ifndef TF_NOTIFY_H
#define TF_NOTIFY_H

#include <stdbool.h>

#define NOTIFY_SECONDS 10
#define NOTIFY_MOST 8

/* Start `program`, an absolute path, with this text on its stdin, when its turn comes. Never blocks. */
void notify_event (const char *program, const char *text, bool last);

/* While the program has the last event. Slurm may kill it when srun has ended, as with a batch script. */
bool notify_has_last (void);

#endif
